"""Each rule of the oracle with a case that it must refuse and one that it must accept."""

import copy
import json
import random
import unittest

import lies
import oracle


def told(letter="a", name="a", **shape):
    return lies.tell(random.Random(1), name, letter, count=3, **shape)


def exchange(telling_or_steps, number=0, request=None, **fields):
    steps = getattr(telling_or_steps, "steps", telling_or_steps)
    sent = [{k: s[k] for k in ("event", "raw", "late") if k in s} for s in steps if "event" in s or "raw" in s]
    return {"number": number, "connection": number, "round": 0, "request": request or {"kind": "create"},
            "sent": copy.deepcopy(sent), **fields}


def resumed(telling_or_steps, number, after, name="a"):
    return exchange(telling_or_steps, number, {"kind": "resume", "id": f"resp_{name}", "starting_after": after})


def outcome(*texts, error=None, code=None, kind="textDelta", extra=(), **fields):
    events = [{"type": kind, "text": text} for text in texts] + list(extra)
    events.append({"type": "error", "tag": error, "replaySafety": "outputDelivered"} if error
                  else {"type": "completed"})
    return {"events": events, "exit": code if code is not None else 65 if error else 0, "seconds": 1, "budget": 6,
            **fields}


class OracleTests(unittest.TestCase):
    def accept(self, exchanges, result, permitted=None):
        self.assertEqual([repr(f) for f in oracle.judge(exchanges, result, permitted)], [])

    def refuse(self, sentence, exchanges, result, permitted=None):
        self.assertIn(sentence, [f.sentence for f in oracle.judge(exchanges, result, permitted)])

    def test_honest_answer(self):
        self.accept([exchange(told())], outcome("ax0 ", "ax1 ", "ax2 "))

    def test_crash(self):
        self.refuse(oracle.CRASH, [], outcome(code=-4))
        self.refuse(oracle.CRASH, [], outcome(code=70, error="x"))
        self.accept([], outcome(code=69, error="connect"))

    def test_hang(self):
        self.refuse(oracle.HANG, [], outcome(hung=True))
        self.accept([], outcome(error="timeout.total", code=124))

    def test_shape(self):
        ends = [{"type": "completed"}]
        self.refuse(oracle.SHAPE, [exchange(told())], outcome("ax0 ax1 ax2 ", extra=ends))
        self.refuse(oracle.SHAPE, [exchange(told())], outcome("ax0 ax1 ax2 ", code=69))
        self.refuse(oracle.SHAPE, [exchange(told())], outcome(error="x", code=0))
        self.refuse(oracle.SHAPE, [], {"events": [], "exit": 69, "seconds": 1, "budget": 1})

    def test_empty_delta(self):
        self.refuse(oracle.EMPTY, [exchange(told())], outcome("ax0 ", "", "ax1 ax2 "))

    def test_piece_left_out(self):
        self.refuse(oracle.SKIPPED, [exchange(told())], outcome("ax0 ", "ax2 "))
        self.refuse(oracle.SKIPPED, [exchange(told())], outcome("ax0 ", "ax1 "))
        self.refuse(oracle.SKIPPED, [exchange(told())], outcome("ax0 ", "ax2 ", error="network"))
        self.accept([exchange(told())], outcome("ax0 ", "ax1 ", error="network"))

    def test_piece_twice(self):
        self.refuse(oracle.REPEATED, [exchange(told())], outcome("ax0 ", "ax0 ", "ax1 ", "ax2 "))

    def test_event_repeated_under_its_number(self):
        t = told()
        t.steps.insert(5, copy.deepcopy(t.steps[4]))
        self.accept([exchange(t)], outcome("ax0 ", "ax1 ", "ax2 "))
        self.refuse(oracle.REPEATED, [exchange(t)], outcome("ax0 ", "ax0 ", "ax1 ", "ax2 "))

    def test_answers_mixed(self):
        first, second = told(), told("b", "b")
        del first.steps[6:]
        both = [exchange(first), exchange(second, 1)]
        self.refuse(oracle.MIXED, both, outcome("ax0 ", "ax1 ", "bx2 "))
        self.refuse(oracle.MIXED, both, outcome("ax0 ", "bx0 ", error="network"))
        self.accept(both, outcome("bx0 ", "bx1 ", "bx2 "))
        self.accept(both, outcome("ax0 ", error="replay.diverged"))

    def test_second_answer_that_goes_on(self):
        first, second = told(), lies.tell(random.Random(1), "b", "a", count=5)
        del first.steps[6:]
        self.accept([exchange(first), exchange(second, 1)], outcome("ax0 ax1 ax2 ax3 ax4 "))

    def test_completed_without_a_complete_response(self):
        t = told()
        t.steps.pop()
        self.refuse(oracle.EXACT, [exchange(t)], outcome("ax0 ax1 ax2 "))
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 ", error="stream.ended-early"))

    def test_text_only_in_closing_events(self):
        for remove in (lies.text_in_closing, lies.text_in_later_closing, lies.only_completed):
            for seed in range(20):
                t = told()
                remove(random.Random(seed), t)
                self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))
                self.refuse(oracle.SKIPPED, [exchange(t)], outcome("ax0 "))

    def test_contradicting_closing_event(self):
        for piece in ("ax0 other ax1 ax2 ", "ax1 ax2 ", "ax0 ", "ax0 ax2 "):
            t = told()
            t.events("response.output_text.done")[0]["event"]["text"] = piece
            self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome("ax0 ax1 ax2 "))
            self.accept([exchange(t)], outcome("ax0 ax1 ax2 ", error="event.contradictory"))

    def test_contradiction_in_output_of_completed(self):
        t = told()
        t.events("response.completed")[0]["event"]["response"]["output"][0]["content"][0]["text"] = "ax0 ax2 "
        self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome("ax0 ax1 ax2 "))

    def test_contradiction_has_its_tag(self):
        t = told()
        t.events("response.output_text.done")[0]["event"]["text"] = "other"
        permitted = {"must": "fail", "tag": "event.contradictory"}
        self.refuse(oracle.TYPED, [exchange(t)], outcome("ax0 ", error="stream.ended-early"), permitted)
        self.accept([exchange(t)], outcome("ax0 ", error="event.contradictory"), permitted)

    def test_delta_behind_the_closing_text_that_had_it(self):
        t = told()
        delta = t.events("response.output_text.delta")[-1]
        t.steps.remove(delta)
        t.steps.insert(t.position(t.events("response.output_text.done")[0]) + 1, delta)
        self.accept([exchange(t)], outcome("ax0 ", "ax1 ", "ax2 "))
        self.refuse(oracle.REPEATED, [exchange(t)], outcome("ax0 ", "ax1 ", "ax2 ", "ax2 "))

    def test_trimmed_end(self):
        t = told()
        lies.trimmed(None, t)
        self.accept([exchange(t)], outcome("ax0 ", "ax1 ", "ax2 "))

    def test_rewritten_citations(self):
        self.assertEqual(oracle.closing_suffix("one【1†a】 two", "one two"), "")
        self.assertEqual(oracle.closing_suffix("one【1†a】 two", "one[1] two"), "")
        self.assertIsNone(oracle.closing_suffix("one【1†a】 two", "one[1] three"))
        self.assertEqual(oracle.closing_suffix("one【1†a】 ", "one[1] two"), "two")
        self.assertEqual(oracle.closing_suffix("one【1†a】 ", "one two"), "two")
        self.assertIsNone(oracle.closing_suffix("one【1†a】 two", "one[1] tw"))

    def test_surrogate_pair_in_two_deltas(self):
        t = told()
        for step, delta in zip(t.events(lies.TEXT), ("\ud83d", "\ude00 ", "end")):
            step["event"]["delta"] = delta
        lies.no_closing_texts(None, t)
        self.accept([exchange(t)], outcome("\U0001F600 ", "end"))
        self.assertTrue(oracle.judge([exchange(t)], outcome("\ufffd", "\ufffd ", "end")))

    def test_no_closing_texts(self):
        t = told()
        lies.no_closing_texts(None, t)
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))
        self.refuse(oracle.SKIPPED, [exchange(t)], outcome("ax0 ax1 "))

    def test_resumed_response_has_one_identity(self):
        first, other = told(), told("o", "o")
        rest = exchange(other.steps[5:], 1)["sent"]
        del first.steps[5:]
        claim = {"event": {"type": "response.created", "sequence_number": 4, "response": {"id": "resp_o"}}}
        known = [exchange(first), resumed([claim, *rest], 1, 4)]
        self.refuse(oracle.EXACT, known, outcome("ax0 ", "ox1 ", "ox2 "))
        self.refuse(oracle.MIXED, known, outcome("ax0 ", "ox1 ", error="event.contradictory"))
        self.accept(known, outcome("ax0 ", error="event.contradictory"))
        unknown = [exchange(first), resumed(rest, 1, 4)]
        self.refuse(oracle.EXACT, unknown, outcome("ax0 ", "ox1 ", "ox2 "))
        self.accept(unknown, outcome("ax0 ", "ox1 ", error="event.contradictory"))

    def test_resumed_response_is_whole(self):
        whole, first = told(), told()
        del first.steps[6:]
        both = [exchange(first), resumed(whole.steps[4:], 1, 3)]
        self.accept(both, outcome("ax0 ", "ax1 ", "ax2 "))
        self.refuse(oracle.REPEATED, both, outcome("ax0 ", "ax1 ", "ax0 ", "ax1 ", "ax2 "))
        del first.steps[5:]
        short = [exchange(first), resumed(whole.steps[6:], 1, 5)]
        self.refuse(oracle.CONTRADICTED, short, outcome("ax0 ", "ax2 "))

    def test_kept_response_that_failed_goes_on(self):
        whole, first = told(), told()
        first.steps[6:] = [{"event": {"type": "response.failed", "response": {"id": "resp_a"}}}]
        both = [exchange(first), resumed(whole.steps[6:], 1, 5)]
        self.accept(both, outcome("ax0 ", "ax1 ", "ax2 "))
        self.accept(both, outcome("ax0 ", "ax1 ", error="response.failed"))
        self.refuse(oracle.REPEATED, both, outcome("ax0 ", "ax1 ", "ax0 ", "ax1 ", "ax2 "))

    def test_end_of_another_response_in_the_middle_of_an_item(self):
        for kind in ("completed", "failed", "incomplete"):
            t = told()
            t.insert(5, {"type": f"response.{kind}", "response": {"id": "resp_z", "output": []}})
            self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))
            self.refuse(oracle.SKIPPED, [exchange(t)], outcome("ax0 "))

    def test_event_of_another_lane(self):
        t = told()
        t.insert(5, {"type": lies.TEXT, "delta": "other ", "stream_id": "other"})
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))
        self.refuse(oracle.MIXED, [exchange(t)], outcome("ax0 other ax1 ax2 "))

    def test_known_text_of_a_kept_response(self):
        t = told()
        lies.no_closing_texts(None, t)
        del t.steps[5]
        self.accept([exchange(t)], outcome("ax0 ", "ax2 "))
        self.refuse(oracle.SKIPPED, [exchange(t)], outcome("ax0 ", "ax2 "), {"texts": ["ax0 ax1 ax2 "]})

    def test_late_event_of_an_earlier_response(self):
        first, second = told(), told("b", "b")
        late = dict(first.events(lies.TEXT)[0]["event"], delta="late ")
        second.insert(3, late, late=True)
        record = [exchange(second, 1, earlier=["resp_a", "msg_a_0"])]
        self.accept(record, outcome("bx0 bx1 bx2 "))
        self.refuse(oracle.MIXED, record, outcome("late ", "bx0 bx1 bx2 "))
        self.refuse(oracle.MIXED, record, outcome("late ", "bx0 ", error="event.contradictory"))

    def test_late_event_without_identifiers(self):
        second = told("b", "b")
        second.insert(5, {"type": lies.TEXT, "delta": "late "}, late=True)
        record = [exchange(second, 1, earlier=["resp_a", "msg_a_0"])]
        self.accept(record, outcome("bx0 bx1 bx2 "))
        self.accept(record, outcome("bx0 ", "late ", error="event.contradictory"))
        self.assertTrue(oracle.judge(record, outcome("bx0 ", "late ", "bx1 bx2 ")))

    def test_an_item_with_text_that_is_another_agents(self):
        t = told()
        done = next(s["event"] for s in t.steps if s.get("event", {}).get("type") == "response.output_item.done")
        done["item"]["agent"] = {"agent_name": "/root/x"}
        self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome("ax0 ax1 ax2 "))
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 ", error="event.contradictory"))

    def test_agents(self):
        t = told(agents=True)
        lies.other_agents(random.Random(3), t)
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))
        self.refuse(oracle.MIXED, [exchange(t)], outcome("ax0 ", "agent0 ", "agent1 ", "ax1 ax2 "))

    def test_kinds_are_held_apart(self):
        t = told(reasoning=True)
        thoughts = {"type": "reasoningDelta", "text": "ra0 ra1 ra2 "}
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 ", extra=[thoughts]))
        self.assertTrue(oracle.judge([exchange(t)], outcome("ax0 ax1 ax2 ", extra=[dict(thoughts, text="ra0 ra2 ")])))
        refusal = told(refusal=True)
        self.accept([exchange(refusal)], outcome("ax0 ax1 ax2 ", kind="refusalDelta"))
        self.assertTrue(oracle.judge([exchange(refusal)], outcome("ax0 ax1 ax2 ")))

    def test_second_response_inside(self):
        t = told()
        t.insert(6, {"type": "response.created", "response": {"id": "resp_z"}})
        self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome("ax0 ax1 ax2 "))

    def test_output_of_an_item_that_is_done(self):
        t = told()
        lies.delta_after_done(None, t)
        self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome("ax0 ax1 ax2 afterwards "))

    def calls(self, *calls):
        events = []
        for call, arguments in calls:
            events += [{"type": "toolCallRequested", "callID": call, "name": "now", "arguments": arguments},
                       {"type": "toolCallCompleted", "callID": call, "name": "now", "status": "completed"}]
        return events

    def test_tools(self):
        first, second = told(tool_calls=1), told("b", "b")
        for remove in (False, True):
            t = copy.deepcopy(first)
            if remove:
                lies.calls_only_in_completed(random.Random(1), t)
            record = [exchange(t), exchange(second, 1, round=1)]
            call = ("call_0_a0", '{"zone":"a0"}')
            text, end = {"type": "textDelta", "text": "ax0 ax1 ax2 "}, {"type": "textDelta", "text": "bx0 bx1 bx2 "}

            def run(*calls):
                return outcome(extra=[text, *self.calls(*calls), end], tools=True)

            self.accept(record, run(call))
            self.refuse(oracle.TOOLS, record, run(call, call))
            self.refuse(oracle.TOOLS, record, run(("call_0_a0", '{"zone":"other"}')))
            self.refuse(oracle.TOOLS, [exchange(t)], outcome("ax0 ax1 ax2 ", tools=True))

    def test_replay_safety(self):
        result = outcome("ax0 ", error="network")
        result["events"][-1]["replaySafety"] = "sentNoOutput"
        self.refuse(oracle.SAFETY, [exchange(told())], result)

    def test_replay_safety_of_a_request_that_the_server_has_not_seen(self):
        result = outcome(error="network")
        result["events"][-1]["replaySafety"] = "notSent"
        self.refuse(oracle.SAFETY, [exchange(told())], result)
        self.accept([exchange(told(), seen=False)], result)

    def test_delta_without_a_place(self):
        def steps(done, *announcements):
            text = "response.output_text"
            events = [{"type": "response.created", "response": {"id": "r"}}, *announcements,
                      {"type": text + ".delta", "output_index": 0, "delta": "a "},
                      {"type": "response.output_item.done", "output_index": done, "item": {"type": "message"}},
                      {"type": text + ".delta", "delta": "b "},
                      {"type": "response.completed", "response": {"id": "r"}}]
            return [{"event": event} for event in events]

        added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}
        self.accept([exchange(steps(1))], outcome("a ", "b "))
        self.accept([exchange(steps(0))], outcome("a ", "b "))   # of another item, where none is announced
        self.refuse(oracle.CONTRADICTED, [exchange(steps(0, added))], outcome("a ", "b "))

    def test_delivered_text_of_a_diverged_replay(self):
        result = outcome("ax0 ", error="replay.diverged")
        result["events"][-1]["deliveredText"] = "ax"
        self.refuse(oracle.DELIVERED, [exchange(told())], result)
        result["events"][-1]["deliveredText"] = "ax0 "
        self.accept([exchange(told())], result)

    def test_tolerance(self):
        self.refuse(oracle.TOLERANT, [exchange(told())], outcome("ax0 ", error="network"), {"must": "complete"})
        self.accept([exchange(told())], outcome("ax0 ax1 ax2 "), {"must": "complete"})

    def test_calls_that_a_stream_hands_over(self):
        for remove in (False, True):
            t = told(tool_calls=1)
            if remove:
                lies.calls_only_in_completed(random.Random(1), t)

            def handed(*zones):
                items = [{"type": "function_call", "name": "now", "arguments": '{ "zone": "%s"}' % zone} for zone in zones]
                return [{"type": "raw", "eventType": "response.output_item.done", "payload": json.dumps({"item": item})}
                        for item in items]

            def run(*zones, **fields):
                return outcome("ax0 ax1 ax2 ", extra=handed(*zones), calls=True, **fields)

            self.accept([exchange(t)], run("a0"))
            self.refuse(oracle.TOOLS, [exchange(t)], run())
            self.refuse(oracle.TOOLS, [exchange(t)], run("a0", "a0"))
            self.refuse(oracle.TOOLS, [exchange(t)], run("other"))
            self.accept([exchange(t)], run(error="network"))
            self.accept([exchange(t)], run("a0", error="network"))
            self.refuse(oracle.TOOLS, [exchange(t)], run("other", error="network"))

    def test_items_that_a_request_carries(self):
        rest = told("b", "b")
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ax0 "}]}
        first = told()
        del first.steps[5:]
        both = [exchange(first), exchange(rest, 1, {"kind": "create", "input": [{"role": "user"}, message]})]
        self.accept(both, outcome("ax0 ", "bx0 bx1 bx2 "))
        self.accept(both, outcome("ax0 ", "bx0 ", error="network"))
        self.refuse(oracle.SKIPPED, both, outcome("bx0 bx1 bx2 "))
        self.refuse(oracle.MIXED, [both[0], exchange(rest, 1)], outcome("ax0 ", "bx0 bx1 bx2 "))

    def test_output_before_the_response_is_created_on_a_kept_connection(self):
        t = told()
        t.insert(0, {"type": lies.TEXT, "delta": "late "})
        self.accept([exchange(t, earlier=["resp_e"])], outcome("ax0 ax1 ax2 "))
        self.refuse(oracle.SKIPPED, [exchange(t, earlier=["resp_e"])], outcome("ax0 ax2 "))
        self.assertTrue(oracle.judge([exchange(t)], outcome("ax0 ax1 ax2 ")))

    def test_same_event_under_a_number_that_others_share(self):
        t = told()
        lies.no_closing_texts(None, t)
        again = copy.deepcopy(t.events(lies.TEXT)[0])
        t.steps.insert(5, again)
        self.refuse(oracle.REPEATED, [exchange(t)], outcome("ax0 ax0 ax1 ax2 "))
        t.events("response.in_progress")[0]["event"]["sequence_number"] = 0
        self.accept([exchange(t)], outcome("ax0 ax0 ax1 ax2 "))
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))

    def test_only_number(self):
        t = told()
        lies.no_closing_texts(None, t)
        for step in t.steps:
            step.get("event", {}).pop("sequence_number", None)
        first = t.events(lies.TEXT)[0]
        first["event"]["sequence_number"] = 4
        t.steps.insert(5, copy.deepcopy(first))
        self.accept([exchange(t)], outcome("ax0 ax0 ax1 ax2 "))
        t.events("response.created")[0]["event"]["sequence_number"] = 3
        self.refuse(oracle.REPEATED, [exchange(t)], outcome("ax0 ax0 ax1 ax2 "))
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 "))

    def test_number_that_is_none(self):
        for number in (-1, 1 << 63):
            t = told()
            lies.no_closing_texts(None, t)
            first = t.events(lies.TEXT)[0]
            first["event"]["sequence_number"] = number
            t.steps.insert(5, copy.deepcopy(first))
            self.accept([exchange(t)], outcome("ax0 ax0 ax1 ax2 "))
            self.refuse(oracle.SKIPPED, [exchange(t)], outcome("ax0 ax1 ax2 "))

    def test_call_that_ends_again_under_another_identifier(self):
        t = told(tool_calls=1)
        done = next(s for s in t.events("response.output_item.done") if s["event"]["item"]["type"] == "function_call")
        again = copy.deepcopy(done)
        again["event"]["item"]["id"] = "other"
        again["event"]["sequence_number"] += 100
        t.steps.insert(t.steps.index(done) + 1, again)
        call = {"type": "raw", "eventType": "response.output_item.done",
                "payload": json.dumps({"item": done["event"]["item"]})}
        self.accept([exchange(t)], outcome("ax0 ax1 ax2 ", extra=[call], calls=True))
        self.refuse(oracle.TOOLS, [exchange(t)], outcome("ax0 ax1 ax2 ", extra=[call, call], calls=True))

    def test_call_that_ends_again_without_identifiers(self):
        def done(index, **members):
            item = {"type": "function_call", "name": "n", "call_id": "c", "arguments": "{}", **members}
            return {"type": "response.output_item.done", "output_index": index, "item": item}

        def handed(*events):
            return outcome(extra=[{"type": "raw", "eventType": event["type"], "payload": json.dumps(event)}
                                  for event in events], calls=True)

        def steps(*events):
            end = {"type": "response.completed", "response": {"id": "r"}}
            return [{"event": event} for event in [*events, end]]

        for again in (done(2), done(0), done(0, arguments="{ }")):
            self.accept([exchange(steps(done(0), again))], handed(done(0)))
            self.refuse(oracle.TOOLS, [exchange(steps(done(0), again))], handed(done(0), again))
        for again in (done(0, name="m"), done(0, name=None), done(0, arguments="[]"), done(0, status="incomplete")):
            self.refuse(oracle.CONTRADICTED, [exchange(steps(done(0), again))], handed(done(0), again))
        elsewhere = done(0, arguments="[]")
        del elsewhere["output_index"]
        for other in (done(0, call_id="d"), done(2, arguments="[]"), elsewhere):
            self.accept([exchange(steps(done(0), other))], handed(done(0), other))
            self.refuse(oracle.TOOLS, [exchange(steps(done(0), other))], handed(done(0)))
        first, second = done(0, call_id=None), done(0, call_id=None, name="m")
        self.accept([exchange(steps(first, second, first, second))], handed(first, second))
        self.refuse(oracle.TOOLS, [exchange(steps(first, second, first))], handed(first, second, first))
        unplaced = done(0, call_id=None)
        del unplaced["output_index"]   # which stands for the first position
        self.accept([exchange(steps(first, unplaced))], handed(first))
        self.refuse(oracle.TOOLS, [exchange(steps(first, unplaced))], handed(first, unplaced))
        behind = done(2, call_id=None)
        self.accept([exchange(steps(behind, unplaced))], handed(behind, unplaced))
        self.refuse(oracle.TOOLS, [exchange(steps(behind, unplaced))], handed(behind))
        search = {"type": "response.output_item.done", "output_index": 2, "item": {"type": "web_search_call"}}
        self.accept([exchange(steps(search, unplaced, behind))], handed(unplaced, behind))
        self.refuse(oracle.TOOLS, [exchange(steps(search, unplaced, behind))], handed(unplaced))
        first, second = done(0, call_id=None, id="i"), done(0, call_id=None, id="i", name="m")
        self.accept([exchange(steps(first, first))], handed(first))
        self.refuse(oracle.CONTRADICTED, [exchange(steps(first, second))], handed(first, second))

    def test_items_that_come_in_another_order(self):
        def message(index, text, end=True):
            item = {"type": "message", "id": f"m{index}", "content": [{"type": "output_text", "text": text}]}
            place = {"output_index": index, "item_id": f"m{index}"}
            events = [{"type": "response.output_item.added", "output_index": index, "item": dict(item, content=[])},
                      {"type": "response.output_text.delta", "delta": text, **place}]
            return events + [{"type": "response.output_item.done", "output_index": index, "item": item}] * end, item

        (first, one), (second, two) = message(0, "ax0 "), message(1, "bx0 ")
        created = {"type": "response.created", "response": {"id": "r"}}
        completed = {"type": "response.completed", "response": {"id": "r", "output": [one, two]}}
        steps = [{"event": event} for event in [created, *second, *first, completed]]
        self.accept([exchange(steps)], outcome("bx0 ", "ax0 "))
        self.refuse(oracle.SKIPPED, [exchange(steps)], outcome("bx0 "))
        steps = [{"event": event} for event in [created, *second, completed]]
        self.refuse(oracle.MIXED, [exchange(steps)], outcome("bx0 ", "ax0 "))

    def test_part_that_only_closing_events_have(self):
        def steps(*events):
            end = {"type": "response.completed", "response": {"id": "r", "output": []}}
            return [{"event": event} for event in [{"type": "response.created", "response": {"id": "r"}}, *events, end]]

        def delta(item, part, text):
            return {"type": "response.output_text.delta", "output_index": item, "content_index": part, "delta": text}

        def done(item, part, text):
            return {"type": "response.output_text.done", "output_index": item, "content_index": part, "text": text}

        between = steps(delta(0, 0, "a "), done(1, 0, "b "), delta(0, 1, "c "))
        self.accept([exchange(between)], outcome("a ", "b ", "c "))
        self.assertTrue(oracle.judge([exchange(between)], outcome("a ", "c ")))
        behind = steps(delta(0, 0, "a "), delta(0, 1, "c "), done(0, 0, "a b "))
        self.accept([exchange(behind)], outcome("a ", "b ", "c "))
        self.assertTrue(oracle.judge([exchange(behind)], outcome("a ", "c ", "b ")))

    def test_end_of_a_part_of_a_summary(self):
        part = {"type": "summary_text", "text": "ra0 "}
        events = [{"type": "response.created", "response": {"id": "r"}},
                  {"type": "response.reasoning_summary_part.done", "output_index": 0, "summary_index": 0, "part": part},
                  {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "x"}]
        steps = [{"event": event} for event in events]
        self.accept([exchange(steps)], outcome("ra0 ", "x", kind="reasoningDelta", error="network"))
        self.assertTrue(oracle.judge([exchange(steps)], outcome("y", kind="reasoningDelta", error="network")))

    def test_items_that_the_request_of_a_kept_response_carries(self):
        whole, first = told(), told()
        del first.steps[5:]
        message = {"type": "message", "content": [{"type": "output_text", "text": "zx0 "}]}
        both = [exchange(first, 0, {"kind": "create", "input": [message]}), resumed(whole.steps[5:], 1, 4)]
        self.accept(both, outcome("zx0 ", "ax0 ", "ax1 ", "ax2 "))
        self.refuse(oracle.SKIPPED, both, outcome("ax0 ", "ax1 ", "ax2 "))

    def test_output_without_a_number_on_a_kept_connection(self):
        t = told()
        t.steps.insert(5, {"event": {"type": lies.TEXT, "output_index": 0, "content_index": 0, "delta": "late "}})
        self.accept([exchange(t, earlier=["resp_e"])], outcome("ax0 ax1 ax2 "))
        self.assertTrue(oracle.judge([exchange(t)], outcome("ax0 ax1 ax2 ")))
        self.assertTrue(oracle.judge([exchange(t, earlier=["resp_e"])], outcome("late ", "ax0 ax1 ax2 ")))

    def test_output_without_an_identifier_on_a_kept_connection(self):
        t = told()
        number = t.steps[5]["event"]["sequence_number"]
        t.steps.insert(5, {"event": {"type": lies.TEXT, "output_index": 0, "content_index": 0, "delta": "late ",
                                     "sequence_number": number}})
        self.accept([exchange(t, earlier=["resp_e"])], outcome("ax0 ax1 ax2 "))
        self.assertTrue(oracle.judge([exchange(t)], outcome("ax0 ax1 ax2 ")))
        self.assertTrue(oracle.judge([exchange(t, earlier=["resp_e"])], outcome("late ", "ax0 ax1 ax2 ")))

    def test_created_of_another_lane_on_a_kept_connection(self):
        t = told()
        for step in t.steps:
            step.get("event", {}).pop("sequence_number", None)
        t.steps.insert(0, {"event": {"type": "response.created", "stream_id": "b", "sequence_number": 0}})
        t.steps.insert(0, {"event": {"type": lies.TEXT, "output_index": 0, "content_index": 0, "delta": "late "}})
        self.accept([exchange(t, earlier=["resp_e"])], outcome("ax0 ax1 ax2 "))

    def test_half_of_a_pair_that_stays_alone(self):
        t = told()
        for step, delta in zip(t.events(lies.TEXT), ("a\ud83d", "b", "end\ud800")):
            step["event"]["delta"] = delta
        lies.no_closing_texts(None, t)
        self.accept([exchange(t)], outcome("a", "\ufffdb", "end", "\ufffd"))
        self.refuse(oracle.MIXED, [exchange(t)], outcome("ab", "end"))

    def test_seeds_make_the_same_script_again(self):
        for seed in range(1500):
            self.assertEqual(lies.make(seed), lies.make(seed))


if __name__ == "__main__":
    unittest.main()
