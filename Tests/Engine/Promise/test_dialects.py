"""The oracle's rules in Chat Completions and Messages: outputs that it must refuse, and some that it must accept."""

import copy
import json
import random
import unittest

import dialects
import lies
import oracle
import server
import translation
from test_oracle import outcome

WORDS = ("ax0 ", "ax1 ", "ax2 ")
CALLS = (("now", '{"zone": "a0"}'), ("now", '{"zone": "a1"}'))


def told(api, seed=1, words=WORDS, name="a", **shape):
    return dialects.TELLINGS[api](name, random.Random(seed)).tell([list(words)], **shape)


def exchange(t, number=0, whole=True, round_number=0):
    sent = [{k: step[k] for k in ("event", "raw") if k in step} for step in t.steps if "event" in step or "raw" in step]
    return {"number": number, "connection": number, "round": round_number, "request": {"kind": "create"},
            "dialect": t.api, "whole": whole, "sent": copy.deepcopy(sent)}


def cut_behind(t, count):
    """The answer up to and with its piece of text of that number."""
    del t.steps[t.position(t.parts("text")[count - 1]) + 1:]
    return t


def requested(*calls, begin=0):
    return [{"type": "toolCallRequested", "callID": f"call_{number}", "name": name, "arguments": arguments}
            for number, (name, arguments) in enumerate(calls, begin)]


def restarted(text):
    return {"type": "restarted", "deliveredText": text}


def deltas(*texts):
    return [{"type": "textDelta", "text": text} for text in texts]


class DialectTests(unittest.TestCase):
    apis = tuple(dialects.TELLINGS)

    def accept(self, exchanges, result, permitted=None):
        self.assertEqual([repr(f) for f in oracle.judge(exchanges, result, permitted)], [])

    def refuse(self, sentence, exchanges, result, permitted=None):
        self.assertIn(sentence, [f.sentence for f in oracle.judge(exchanges, result, permitted)])

    def test_text_twice_lost_or_mixed(self):
        for api in self.apis:
            for seed in range(40):
                for tolerated in (None, *dialects.TOLERATED):
                    t = told(api, seed, reasoning=("ra0 ",))
                    if tolerated:
                        dialects.bent(random.Random(seed), t, [tolerated], [])
                    one = [exchange(t)]
                    reasoning = [{"type": "reasoningDelta", "text": "ra0 "}]
                    self.accept(one, outcome(*WORDS, extra=reasoning))
                    self.refuse(oracle.REPEATED, one, outcome("ax0 ", *WORDS, extra=reasoning))
                    self.refuse(oracle.SKIPPED, one, outcome("ax0 ", "ax2 ", extra=reasoning))
                    self.refuse(oracle.SKIPPED, one, outcome("ax0 ", "ax1 ", extra=reasoning))
                    self.refuse(oracle.MIXED, one, outcome(*WORDS, "bx3 ", extra=reasoning))
                    self.refuse(oracle.SKIPPED, one, outcome(*WORDS))   # without the reasoning

    def test_white_space_lost_at_the_end(self):
        for api in self.apis:
            self.refuse(oracle.SKIPPED, [exchange(told(api))], outcome("ax0 ", "ax1 ", "ax2"))

    def test_refusal(self):
        one = [exchange(told("chat", refusal=True))]
        self.accept(one, outcome(*WORDS, kind="refusalDelta"))
        self.refuse(oracle.MIXED, one, outcome(*WORDS))

    def test_cut_taken_for_the_end(self):
        for api in self.apis:
            t = cut_behind(told(api), 2)
            for whole in (False, True):
                one = [exchange(t, whole=whole)]
                self.refuse(oracle.EXACT, one, outcome("ax0 ", "ax1 "))
                self.accept(one, outcome("ax0 ", "ax1 ", error="stream.ended-early"))
                self.refuse(oracle.SKIPPED, one, outcome("ax1 ", error="stream.ended-early"))

    def test_proof_of_the_end(self):
        chat, message = told("chat"), told("messages")
        for t in (chat, message):
            dialects.no_stop(None, t)
        self.accept([exchange(chat)], outcome(*WORDS))
        self.refuse(oracle.EXACT, [exchange(chat, whole=False)], outcome(*WORDS))
        self.refuse(oracle.EXACT, [exchange(message)], outcome(*WORDS))
        chat = told("chat")
        dialects.no_finish(None, chat)
        self.refuse(oracle.EXACT, [exchange(chat)], outcome(*WORDS))
        message = told("messages")
        dialects.no_finish(None, message)
        self.accept([exchange(message)], outcome(*WORDS))

    def test_reasons_that_are_not_complete(self):
        for api in self.apis:
            for reason in dialects.TELLINGS[api].REASONS:
                t = told(api)
                t.set_reason(t.parts("finish")[0], reason)
                self.refuse(oracle.EXACT, [exchange(t)], outcome(*WORDS))
                self.accept([exchange(t)], outcome(*WORDS, error="response.incomplete"))
        t = told("chat")
        dialects.limit_of_the_model(None, t)
        self.refuse(oracle.EXACT, [exchange(t)], outcome(*WORDS))

    def test_error_inside(self):
        for api in self.apis:
            t = told(api)
            t.put(t.position(t.parts("text")[1]), t.error())
            self.refuse(oracle.EXACT, [exchange(t)], outcome(*WORDS))
            self.accept([exchange(t)], outcome("ax0 ", error="response.failed"))
            self.refuse(oracle.MIXED, [exchange(t)], outcome("ax0 ", "ax1 ", error="response.failed"))

    def test_other_choice_is_no_output(self):
        t = told("chat")
        dialects.second_choice(random.Random(1), t)
        self.refuse(oracle.MIXED, [exchange(t)], outcome("ax0 ", "choice ", "ax1 ", "ax2 "))

    def test_other_message_inside(self):
        t = told("messages")
        other = copy.deepcopy(t.parts("begin")[0])
        other["event"]["message"]["id"] = "msg_other"
        t.steps.insert(t.position(t.parts("text")[1]), other)
        self.refuse(oracle.CONTRADICTED, [exchange(t)], outcome(*WORDS))
        self.accept([exchange(t)], outcome("ax0 ", error="event.contradictory"))

    def test_answers_of_two_requests(self):
        for api in self.apis:
            both = [exchange(cut_behind(told(api), 2), whole=False), exchange(told(api, words=("bx0 ", "bx1 ")), 1)]
            self.refuse(oracle.MIXED, both, outcome("ax0 ", "ax1 ", "bx0 ", "bx1 "))
            self.refuse(oracle.MIXED, both, outcome("ax0 ", "bx1 "))
            self.refuse(oracle.EXACT, both[:1], outcome("ax0 ", "ax1 "))
            self.accept(both, outcome("ax0 ", "ax1 ", error="replay.diverged"))

    def test_restart(self):
        for api in self.apis:
            both = [exchange(cut_behind(told(api), 2), whole=False), exchange(told(api, words=("bx0 ", "bx1 ")), 1)]
            policy = {"divergence": "restart"}
            begun = [*deltas("ax0 ", "ax1 "), restarted("ax0 ax1 ")]

            def result(*events, policy=policy, error=None):
                one = outcome(extra=[*events], error=error)
                return dict(one, policy=policy)

            self.accept(both, result(*begun, *deltas("bx0 ", "bx1 ")))
            self.accept(both, result(*begun, *deltas("bx0 "), error="connection.lost"))
            self.refuse(oracle.POLICY, both, result(*begun, *deltas("bx0 ", "bx1 "), policy={}))
            self.refuse(oracle.SKIPPED, both, result(*begun, *deltas("bx1 ")))
            self.refuse(oracle.MIXED, both, result(*begun, *deltas("ax1 ", "bx0 ", "bx1 ")))
            self.refuse(oracle.REPEATED, both, result(*deltas("ax0 ", "ax0 "), restarted("ax0 ax0 "),
                                                      *deltas("bx0 ", "bx1 ")))
            self.refuse(oracle.VOID, both, result(*deltas("ax0 ", "ax1 "), restarted("ax0 "), *deltas("bx0 ", "bx1 ")))
            self.refuse(oracle.VOID, both, result(*[restarted("")] * 3, *deltas("bx0 ", "bx1 ")))

    def test_policies_of_recovery(self):
        for api in self.apis:
            both = [exchange(cut_behind(told(api), 1), whole=False), exchange(told(api), 1)]
            for policy in ("never", "resumeOnly"):
                result = dict(outcome("ax0 ", error="replay.diverged"), policy={"recovery": policy})
                self.refuse(oracle.POLICY, both, result)
            self.refuse(oracle.POLICY, both, dict(outcome(*WORDS), policy={"recovery": "never"}))
            self.accept(both[:1], dict(outcome("ax0 ", error="connection.lost"), policy={"recovery": "never"}))

    def test_tool_runs_once(self):
        for api in self.apis:
            for seed in range(40):
                one = [exchange(told(api, seed, calls=2)), exchange(told(api, words=("bx0 ",)), 1, round_number=1)]
                done = [{"type": "toolCallCompleted"}, *deltas("bx0 ")]

                def result(*calls, ran=("", ""), done=done):
                    return dict(outcome(*WORDS, extra=[*calls, *done]), tools=True, ran=[*ran])

                arguments = [call[1] for call in CALLS]
                self.accept(one, result(*requested(*CALLS), ran=arguments))
                self.refuse(oracle.TOOLS, one, result(*requested(*CALLS), ran=[*arguments, arguments[0]]))
                self.refuse(oracle.TOOLS, one, result(*requested(*CALLS), ran=arguments[:1]))
                self.refuse(oracle.TOOLS, one, result(*requested(*CALLS, CALLS[0]), ran=[*arguments, arguments[0]]))
                self.refuse(oracle.TOOLS, one, result(*requested(*CALLS), *requested(CALLS[1], begin=1), ran=arguments))
                self.refuse(oracle.TOOLS, one, result(*requested(CALLS[0]), ran=arguments[:1]))
                self.refuse(oracle.TOOLS, one, result(*requested(CALLS[0], ("now", "{}")), ran=[arguments[0], "{}"]))

    def test_tool_of_a_cut_answer(self):
        for api in self.apis:
            t = told(api, calls=2)
            dialects.no_finish(None, t)
            dialects.no_stop(None, t)
            one = [exchange(t), exchange(told(api, words=("bx0 ",)), 1, round_number=1)]
            self.refuse(oracle.EXACT, one, outcome(*WORDS, extra=[*requested(*CALLS), {"type": "toolCallCompleted"},
                                                                  *deltas("bx0 ")], tools=True))

    def test_tool_with_cut_arguments(self):
        for api in self.apis:
            for seed in range(40):
                t = told(api, seed, calls=1)
                try:
                    dialects.cut_arguments(None, t)
                except IndexError:
                    continue
                cut = translation.READERS[api]("index", False)
                for step in t.parts("begin", "call", "arguments"):
                    cut.take(step["event"])
                if cut.calls[0].arguments == "{}":
                    continue   # they came in one piece, which is lost, and no other piece can tell
                one = [exchange(t), exchange(told(api, words=("bx0 ",)), 1, round_number=1)]
                done = [{"type": "toolCallCompleted"}, *deltas("bx0 ")]
                self.refuse(oracle.EXACT, one, outcome(*WORDS, tools=True, extra=[
                    *requested(("now", cut.calls[0].arguments)), *done]))
                self.accept(one[:1], outcome(*WORDS, error="response.incomplete"))

    def test_calls_in_rounds_without_text(self):
        for api in self.apis:
            rounds = [exchange(told(api, words=(), name=name, calls=1), number, round_number=number)
                      for number, name in enumerate("ab")]
            last = exchange(told(api, words=("cx0 ",), name="c"), 2, round_number=2)
            between = [{"type": "toolCallCompleted"}, {"type": "diagnostic", "kind": "connected"}]
            events = [*requested(CALLS[0]), *between, *requested(("now", '{"zone": "b0"}'), begin=1), *between]
            self.accept([*rounds, last], outcome(extra=[*events, *deltas("cx0 ")], tools=True))

    def test_wrong_index(self):
        t = told("messages", 3, calls=1)
        pieces = t.parts("arguments")
        pieces[-1]["event"]["index"] = 9
        found = {json.dumps([event for event in events if event["type"] == "response.output_item.done"])
                 for events in translation.translations(exchange(t))}
        self.assertEqual(len(found), 1)   # no arguments are lost for their index
        self.assertIn("zone", found.pop())

    def test_other_api_says_nothing(self):
        for api in self.apis:
            for other in dialects.APIS:
                if other != api:
                    t = dialects.told_in(other, random.Random(1), "o")
                    sent = [{k: step[k] for k in ("event", "raw") if k in step} for step in t.steps]
                    one = [dict(exchange(told(api)), sent=sent)]
                    self.refuse(oracle.EXACT, one, outcome("o0 ", "o1 ", "o2 "))
                    self.accept(one, outcome(error="event.other-api"))

    def test_fault_of_arguments(self):
        whole = '{"zone": "a\\"0", "n": [1, {}]}'
        self.assertIsNone(translation.fault(whole))
        for end in range(1, len(whole)):
            self.assertEqual(translation.fault(whole[:end]), "cut", whole[:end])
        self.assertEqual(translation.fault('{"zone" "a0"}'), "malformed")
        self.assertEqual(translation.fault(whole + whole), "malformed")


class ScriptTests(unittest.TestCase):
    def test_a_seed_is_the_same_script(self):
        for seed in range(50):
            self.assertEqual(json.dumps(dialects.make(seed)), json.dumps(dialects.make(seed)))

    def test_each_lie_is_told(self):
        told_lies = {note.split(":")[1] for seed in range(1500) for note in dialects.make(seed)["notes"] if ":" in note}
        for lie in (*dialects.TOLERATED, *dialects.LIES, *lies.LIES):
            self.assertIn(lie.__name__, told_lies)

    def test_a_cut_lets_no_whole_event_through(self):
        data = server.stream_event({"event": {"type": "ping"}})
        for share in (0, 0.5, 0.999, 1):
            self.assertLess(len(server.beginning(data, {"share": share})), len(data))


if __name__ == "__main__":
    unittest.main()
