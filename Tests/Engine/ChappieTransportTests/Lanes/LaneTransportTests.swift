// Lanes of one socket, over connections that the test controls.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite(.timeLimit(.minutes(10))) struct LaneTransportTests {
    /// Returns the events of a lane as text.
    static func told(_ connection: any TransportConnection) -> [String] {
        var told: [String] = []
        while let event = connection.next() {
            switch event {
            case .ready: told.append("ready")
            case .pong: told.append("pong")
            case .opened(let head): told.append("\(head.statusCode)")
            case .payload(let payload): told.append(String(decoding: payload.bytes, as: UTF8.self))
            case .ended(.closed(let code, _)): told.append("closed \(code)")
            case .ended(.failed(let failure)): told.append("\(failure.cause)")
            case .ended(.complete): told.append("complete")
            }
        }
        return told
    }

    static func request(_ lane: String?, key: String = "k", id: String = "1") -> TransportRequest {
        var request = TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "h", port: 80, target: "/v1/responses"),
            exchange: .webSocket(compression: nil),
            fields: [HTTPField("Authorization", "Bearer \(key)"), HTTPField("X-Client-Request-ID", id)])
        request.lane = lane
        return request
    }

    static func event(_ lane: String?, _ type: String, _ members: String = "") -> String {
        let lane = lane.map { #","stream_id":"\#($0)""# } ?? ""
        return #"{"type":"\#(type)"\#(members)\#(lane)}"#
    }

    /// A request for a lane.
    static func create(_ lane: String?) -> [UInt8] { Array(Self.event(lane, "response.create").utf8) }

    /// Connections on lanes of one socket that is established and whose heads are read.
    private static func lanes(
        _ names: String?..., maximumAge: Duration? = nil, clock: ManualClock = ManualClock()
    ) -> (LaneTransport, ManualTransport, [any TransportConnection]) {
        let sockets = ManualTransport(clock: clock)
        let transport = LaneTransport(sockets, clock: clock.turnClock, maximumAge: maximumAge)
        let connections = names.map { transport.connect(Self.request($0)) }
        sockets.sockets[0].push(.opened(101))
        for connection in connections { #expect(Self.told(connection) == ["101"]) }
        return (transport, sockets, connections)
    }

    // MARK: Sharing

    @Test func lanesShareASocketAndReceiveTheirOwnEvents() {
        let (transport, sockets, lanes) = Self.lanes("a", "b", nil)
        #expect(sockets.requests.count == 1)
        #expect(Set(lanes.map(\.socketIdentity)).count == 1)
        for (lane, name) in zip(lanes, ["a", "b", nil]) { lane.send(Self.create(name), as: .text) }
        let escaped = #"{"stream\u005fid":"\u0062","type":"response.in_progress"}"#
        let first = #"{"stream_id":"a","type":"response.in_progress"}"#
        sockets.sockets[0].push(
            .text(first), .text(escaped), .text(Self.event(nil, "response.in_progress")),
            .text(Self.event("a", "response.completed", #","response":{}"#)), .text(Self.event("a", "late")))
        #expect(Self.told(lanes[1]) == [escaped])
        #expect(Self.told(lanes[0]) == [first, Self.event("a", "response.completed", #","response":{}"#)])
        #expect(Self.told(lanes[2]) == [Self.event(nil, "response.in_progress")])
        // A newcomer finds the socket open.
        #expect(Self.told(transport.connect(Self.request("c"))) == ["101"])
        #expect(sockets.requests.count == 1)
    }

    @Test func otherCredentialsAndPostsHaveTheirOwnSockets() {
        let sockets = ManualTransport(clock: ManualClock())
        let transport = LaneTransport(sockets, clock: ManualClock().turnClock, maximumAge: nil)
        let same = [transport.connect(Self.request("a")), transport.connect(Self.request("b", id: "2"))]
        let other = transport.connect(Self.request("c", key: "other"))
        var post = Self.request("d")
        post.exchange = .post(body: [])
        let plain = transport.connect(post)
        #expect(sockets.requests.count == 3)
        #expect(Set((same + [other, plain]).map(\.socketIdentity)).count == 3)
        #expect(plain is ManualSocket)
    }

    @Test func aRequestWaitsForTheLaneAndItsBudgetDoesNotRun() {
        let clock = ManualClock()
        let (_, sockets, lanes) = Self.lanes("a", "a", clock: clock)
        let second = Array(#"{"stream_id":"a","input":"2","type":"response.create"}"#.utf8)
        lanes[0].send(Self.create("a"), as: .text)
        lanes[1].send(second, as: .text)
        #expect(sockets.sockets[0].calls.count == 1)
        #expect(lanes.map(\.statistics.isWaitingForTurn) == [false, true])
        #expect(lanes[1].statistics.sentByteCount == 0)
        clock.advance(by: .seconds(7))
        sockets.sockets[0].push(.text(Self.event("a", "response.failed", #","response":{}"#)))
        _ = Self.told(lanes[0])
        #expect(sockets.sockets[0].calls.last == .send(String(decoding: second, as: UTF8.self), .text))
        #expect(lanes[1].statistics.turnCame == .seconds(7))
        #expect(!lanes[1].statistics.isWaitingForTurn)
        #expect(lanes[1].statistics.sentByteCount == second.count)
    }

    @Test func aSteeredResponseKeepsItsLane() {
        let (_, sockets, lanes) = Self.lanes("a", "a")
        lanes[0].send(Self.create("a"), as: .text)
        lanes[1].send(Self.create("a"), as: .text)
        let steer = #"{"type":"response.steer","previous_response_id":"r","input":"x"}"#
        lanes[0].send(Array(steer.utf8), as: .text)
        #expect(sockets.sockets[0].calls.last == .send(steer, .text))
        let incomplete = { (reason: String) in
            Self.event("a", "response.incomplete", #","response":{"incomplete_details":{"reason":"\#(reason)"}}"#)
        }
        sockets.sockets[0].push(
            .text(Self.event("a", "response.steer.accepted")), .text(incomplete("steered")),
            .text(Self.event("a", "response.created", #","response":{"id":"r2"}"#)))
        #expect(Self.told(lanes[0]).count == 3)
        #expect(sockets.sockets[0].calls.count == 2)
        sockets.sockets[0].push(.text(incomplete("max_output_tokens")))
        #expect(Self.told(lanes[0]).count == 1)
        #expect(sockets.sockets[0].calls.count == 3)
    }

    @Test func pongIsDeliveredToThePingingLane() {
        let (_, sockets, lanes) = Self.lanes("a", "b", "c")
        lanes[2].ping()
        lanes[1].ping()
        sockets.sockets[0].push(.pong, .pong, .pong)
        #expect(lanes.map { Self.told($0) } == [[], ["pong"], ["pong"]])
        #expect(sockets.sockets[0].calls == [.ping, .ping])
    }

    @Test func eventOfNoLaneFailsTheSocketWithTwoActiveLanes() {
        let (_, sockets, lanes) = Self.lanes("a", "b")
        for (lane, name) in zip(lanes, ["a", "b"]) { lane.send(Self.create(name), as: .text) }
        sockets.sockets[0].push(.text(Self.event(nil, "keepalive")), .binary, .text("no JSON"))
        #expect(lanes.map { Self.told($0).count } == [3, 3])
        sockets.sockets[0].push(.text(Self.event(nil, "response.in_progress")))
        #expect(lanes.map { Self.told($0) } == [[], []])
        #expect(sockets.sockets[0].calls.last == .fail(1002))
    }

    @Test func eventsWithoutALaneAreAssignedByIdentifier() {
        let (_, sockets, lanes) = Self.lanes("a", "b", "a")
        for (lane, name) in zip(lanes, ["a", "b", "a"]) { lane.send(Self.create(name), as: .text) }
        let delta = { (lane: String?, item: String) in
            Self.event(
                lane, "response.output_text.delta",
                #","item_id":"\#(item)","output_index":0,"content_index":0,"delta":"x""#)
        }
        let added = { (lane: String, item: String) in
            Self.event(
                lane, "response.output_item.added", #","output_index":0,"item":{"id":"\#(item)","type":"message"}"#)
        }
        let end = { (lane: String?, id: String) in
            Self.event(lane, "response.completed", #","response":{"id":"\#(id)"}"#)
        }
        let created = Self.event("a", "response.created", #","response":{"id":"r1"}"#)
        // The first two responses run; one event of each names no lane.
        sockets.sockets[0].push(
            .text(created), .text(added("a", "m1")), .text(added("b", "m2")), .text(delta(nil, "m2")),
            .text(delta(nil, "m1")), .text(end(nil, "r1")))
        // The third has the lane of the first, of which more messages come.
        sockets.sockets[0].push(
            .text(delta("a", "m1")), .text(end("a", "r1")), .text(added("a", "m3")), .text(delta(nil, "m1")),
            .text(delta("a", "m3")), .text(end("a", "r3")))
        #expect(Self.told(lanes[0]) == [created, added("a", "m1"), delta(nil, "m1"), end(nil, "r1")])
        #expect(Self.told(lanes[1]) == [added("b", "m2"), delta(nil, "m2")])
        #expect(Self.told(lanes[2]) == [added("a", "m3"), delta("a", "m3"), end("a", "r3")])
        #expect(sockets.sockets[0].calls.last != .fail(1002))
    }

    // MARK: Ends

    @Test func endOfTheSocketIsDeliveredToEveryLane() {
        let (transport, sockets, lanes) = Self.lanes("a", "b")
        lanes[0].send(Self.create("a"), as: .text)
        sockets.sockets[0].push(.text(Self.event("a", "response.in_progress")), .ended(.closed(code: 1012, reason: "")))
        #expect(Self.told(lanes[1]) == ["closed 1012"])
        #expect(Self.told(lanes[0]) == [Self.event("a", "response.in_progress"), "closed 1012"])
        lanes[1].send(Self.create("b"), as: .text)
        #expect(sockets.sockets[0].calls.count == 1)
        _ = [transport.connect(Self.request("a")), transport.connect(Self.request("b"))]
        #expect(sockets.requests.count == 2)
    }

    @Test func refusedUpgradeIsDeliveredToEveryLane() {
        let sockets = ManualTransport(clock: ManualClock())
        let transport = LaneTransport(sockets, clock: ManualClock().turnClock, maximumAge: nil)
        let lanes = ["a", "b"].map { transport.connect(Self.request($0)) }
        sockets.sockets[0].push(.opened(426), .body("no"), .body(" way"), .ended(.complete))
        #expect(lanes.map { Self.told($0) } == Array(repeating: ["426", "no", " way", "complete"], count: 2))
        _ = transport.connect(Self.request("c"))
        #expect(sockets.requests.count == 2)
    }

    @Test func cancelledLaneKeepsTheSocketForTheOthers() {
        let (transport, sockets, lanes) = Self.lanes("a", "b")
        for (lane, name) in zip(lanes, ["a", "b"]) { lane.send(Self.create(name), as: .text) }
        lanes[0].cancel()
        #expect(Self.told(lanes[0]) == ["cancelled"])
        sockets.sockets[0].push(.text(Self.event("a", "x")), .text(Self.event("b", "y")))
        #expect(Self.told(lanes[1]) == [Self.event("b", "y")])
        #expect(Self.told(lanes[0]) == [])
        // An unread response is not waited for.
        let again = transport.connect(Self.request("a"))
        #expect(sockets.requests.count == 2)
        #expect(again.socketIdentity != lanes[1].socketIdentity)
        #expect(!sockets.sockets[0].calls.contains(.cancel))
        lanes[1].cancel()
        #expect(sockets.sockets[0].calls.last == .cancel)
    }

    @Test func lastIdleLaneClosesTheSocketInOrder() {
        let (transport, sockets, lanes) = Self.lanes("a", "b", "c")
        lanes[2].send(Self.create("c"), as: .text)
        sockets.sockets[0].push(.text(Self.event("c", "response.completed", #","response":{}"#)))
        lanes[0].close()
        lanes[0].close()
        lanes[1].close()
        #expect(Self.told(lanes[2]).count == 1)
        lanes[2].close()
        #expect(Self.told(lanes[2]) == ["closed 1000"])
        #expect(sockets.sockets[0].calls.dropFirst() == [.close])
        _ = transport.connect(Self.request("a"))
        #expect(sockets.requests.count == 2)
    }

    @Test func droppingALaneIsCancellingIt() {
        var (_, sockets, lanes) = Self.lanes("a")
        lanes[0].send(Self.create("a"), as: .text)
        lanes = []
        #expect(sockets.sockets[0].calls.last == .cancel)
    }

    @Test func requestsBehindAnAbandonedResponseAreFailed() {
        let (_, sockets, lanes) = Self.lanes("a", "a", "b")
        for (lane, name) in zip(lanes, ["a", "a", "b"]) { lane.send(Self.create(name), as: .text) }
        lanes[0].cancel()
        #expect(Self.told(lanes[1]) == ["connectionLost"])
        #expect(Self.told(lanes[2]) == [])
        #expect(sockets.sockets[0].calls.count == 2)
    }

    @Test func anOldSocketKeepsItsTurnsAndTakesNoOthers() {
        let clock = ManualClock()
        let (transport, sockets, lanes) = Self.lanes("a", "b", maximumAge: .seconds(60), clock: clock)
        for (lane, name) in zip(lanes, ["a", "b"]) { lane.send(Self.create(name), as: .text) }
        sockets.sockets[0].push(.text(Self.event("b", "response.completed", #","response":{}"#)))
        #expect(Self.told(lanes[1]).count == 1)
        clock.advance(by: .seconds(60))
        _ = transport.connect(Self.request("c"))
        #expect(sockets.requests.count == 2)
        #expect(Self.told(lanes[0]) == [])
        #expect(Self.told(lanes[1]) == ["closed 1000"])
        sockets.sockets[0].push(.text(Self.event("a", "x")))
        #expect(Self.told(lanes[0]) == [Self.event("a", "x")])
    }

    // MARK: Counters

    @Test func anotherLanesEventsAreNoSignOfLife() {
        let clock = ManualClock()
        let (transport, sockets, lanes) = Self.lanes("a", "b", clock: clock)
        for (lane, name) in zip(lanes, ["a", "b"]) { lane.send(Self.create(name), as: .text) }
        clock.advance(by: .seconds(3))
        sockets.sockets[0].push(.text(Self.event("b", "x")))
        #expect(Self.told(lanes[0]) == [])
        #expect(lanes.map(\.statistics.lastHeard) == [nil, .seconds(3)])
        #expect(lanes.map(\.statistics.receivedByteCount) == [0, Self.event("b", "x").utf8.count])
        let late = transport.connect(Self.request("c"))
        clock.advance(by: .seconds(2))
        var statistics = TransportStatistics()
        (statistics.connected, statistics.lastPinged, statistics.lastReceived) = (.seconds(1), .seconds(4), .seconds(5))
        sockets.sockets[0].statistics = statistics
        // The lanes share one ping; times count from a lane's beginning.
        #expect((lanes + [late]).map(\.statistics.lastHeard) == [.seconds(4), .seconds(4), .seconds(1)])
        #expect((lanes + [late]).map(\.statistics.connected) == [.seconds(1), .seconds(1), nil])
        #expect(late.statistics.lastReceived == .seconds(2))
    }
}
