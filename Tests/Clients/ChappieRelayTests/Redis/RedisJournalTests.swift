import ChappieRelay
import ChappieTransport
import Foundation
import PlatformC
import Testing

/// A journal in Redis whose server, connection or user fails.
@Suite(.enabled(if: RedisServer.isInstalled, "no redis-server is installed: see Scripts/install.sh test"))
struct RedisJournalTests {
    private static let lease = Duration.seconds(60)

    private func batch(_ first: Int, _ texts: String..., closes: Bool = false) -> ChappieJournalBatch {
        ChappieJournalBatch(firstPosition: first, records: texts.map { Array($0.utf8) }, closes: closes)
    }

    private func texts(_ journal: ChappieRedisJournal, _ id: ChappieStreamID) async throws -> [String] {
        try await journal.records(of: id, after: 0, byteCount: 1 << 20).map {
            String(decoding: $0.content, as: UTF8.self)
        }
    }

    private func journal(_ server: RedisServer, url: String? = nil, timeout: Duration = .seconds(60)) throws
        -> ChappieRedisJournal
    {
        var configuration = ChappieRedisJournal.Configuration()
        configuration.commandTimeout = timeout
        configuration.connectTimeout = timeout
        return try ChappieRedisJournal(url: url ?? server.url, configuration: configuration)
    }

    private func create(
        _ journal: ChappieRedisJournal, key: String? = nil, owner: String = "a"
    ) async throws -> (ChappieStreamID, ChappieJournalWriter) {
        let stream = try await journal.create(ChappieNewStream(key: key, header: [1]), owner: owner, lease: Self.lease)
        return (stream.id, ChappieJournalWriter(owner: owner, epoch: stream.epoch))
    }

    private func failure(of body: () async throws -> Void) async -> ChappieJournalError? {
        do {
            try await body()
        } catch let error as ChappieJournalError {
            return error
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    /// The words of `unavailable`; nil for anything else.
    private func reason(of body: () async throws -> Void) async -> String? {
        if case .unavailable(let reason)? = await self.failure(of: body) { reason } else { nil }
    }

    // MARK: The server

    @Test func aServerThatForgotItsScriptsLearnsThemAgain() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        try server.command("SCRIPT", "FLUSH")
        try await journal.append(self.batch(2, "two"), to: id, by: writer, lease: Self.lease)
        #expect(try await self.texts(journal, id) == ["one", "two"])
        await journal.shutdown()
    }

    @Test func aRestartedServerIsUsedAgain() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        try server.command("SAVE")
        server.stop()
        let reason = await self.reason { _ = try await journal.stream(id) }
        #expect(reason == "127.0.0.1:\(server.port): Connection refused")
        try server.start()
        try await journal.append(self.batch(2, "two"), to: id, by: writer, lease: Self.lease)
        #expect(try await self.texts(journal, id) == ["one", "two"])
        await journal.shutdown()
    }

    @Test func killedConnectionsLoseAndRepeatNothing() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        let appending = Task {
            for position in 1...300 {
                try await journal.append(self.batch(position, "\(position)"), to: id, by: writer, lease: Self.lease)
            }
        }
        let reading = Task {
            var seen = 0
            while seen < 300 {
                try await journal.waitForRecords(of: id, after: seen, atMost: .seconds(600))
                seen += try await journal.records(of: id, after: seen, byteCount: 1 << 20).count
            }
        }
        // Between kills something is appended, so that the connection is killed at many places.
        for count in [5, 50, 100, 150, 200, 250] {
            while try await journal.stream(id)?.lastPosition ?? 0 < count { await Task.yield() }
            try server.command("CLIENT", "KILL", "TYPE", "normal")
            try server.command("CLIENT", "KILL", "TYPE", "pubsub")
        }
        try await appending.value
        try await reading.value
        #expect(try await self.texts(journal, id) == (1...300).map(String.init))
        await journal.shutdown()
    }

    @Test func anAppendWhoseAnswerIsLostIsThereOnce() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        // The server runs the append and cannot answer it any more.
        try server.command("SCRIPT", "FLUSH")
        let appending = try await server.during("DEBUG", "SLEEP", "0.3") {
            let appending = Task {
                try await journal.append(self.batch(1, "one", "two"), to: id, by: writer, lease: Self.lease)
            }
            try server.command("CLIENT", "KILL", "TYPE", "normal")
            return appending
        }
        _ = try await appending.value
        #expect(try await self.texts(journal, id) == ["one", "two"])
        await journal.shutdown()
    }

    @Test func aSlowServerIsTimedOutAndUsedAgain() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server, timeout: .milliseconds(300))
        _ = await self.failure { _ = try await journal.stream(ChappieStreamID()) }
        let reason = try await server.during("DEBUG", "SLEEP", "1.5") {
            // The first one may come before the sleep.
            while true {
                if let reason = await self.reason(of: { _ = try await journal.stream(ChappieStreamID()) }) {
                    return reason
                }
            }
        }
        #expect(reason.hasPrefix("127.0.0.1:\(server.port): no "))
        while await self.failure(of: { _ = try await journal.stream(ChappieStreamID()) }) != nil { await Task.yield() }
        await journal.shutdown()
    }

    @Test(
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "this is not a server of Redis: a value begins with the byte 72"),
            ("-LOADING Redis is loading the dataset in memory\r\n", "the server is loading its data (LOADING)"),
            ("-MOVED 3999 10.0.0.1:6381\r\n", "the server is one of a Redis Cluster (MOVED)"),
            ("-READONLY You can't write against a read only replica.\r\n", "the server is a replica"),
        ])
    func unusableAnswersOfAServerAreNamed(_ answer: String, _ words: String) async throws {
        let peer = try FixedAnswerPeer(answer)
        let journal = try ChappieRedisJournal(url: "redis://127.0.0.1:\(peer.port)")
        for _ in 0..<2 {
            let reason = await self.reason { _ = try await journal.stream(ChappieStreamID()) }
            #expect(reason?.hasPrefix("127.0.0.1:\(peer.port): \(words)") == true, "\(reason ?? "nothing")")
        }
        await journal.shutdown()
    }

    @Test func serversThatCannotBeReachedOrUsedAreNamed() async throws {
        let server = try RedisServer(options: ["--maxmemory", "1"])
        let journal = try self.journal(server)
        let full = await self.reason { _ = try await self.create(journal) }
        #expect(full == "127.0.0.1:\(server.port): the server's memory is full (OOM)")
        await journal.shutdown()
        let nowhere = try ChappieRedisJournal(url: "redis://127.0.0.1:1")
        let refused = await self.reason { _ = try await nowhere.stream(ChappieStreamID()) }
        #expect(refused == "127.0.0.1:1: Connection refused")
        await nowhere.shutdown()
        let nameless = try ChappieRedisJournal(url: "redis://nothing.invalid")
        let unknown = await self.reason { _ = try await nameless.stream(ChappieStreamID()) }
        #expect(unknown == "nothing.invalid:6379: the name has no address")
        await nameless.shutdown()
    }

    @Test func keysOfAnotherProgramAreDamage() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        func isDamaged(_ body: () async throws -> Void) async -> Bool {
            if case .damaged? = await self.failure(of: body) { true } else { false }
        }
        let other = ChappieStreamID()
        try server.command("SET", "chappie:{\(other)}:meta", "canary")
        #expect(await isDamaged { _ = try await journal.stream(other) })
        try server.command("DEL", "chappie:{\(other)}:meta")
        try server.command("HSET", "chappie:{\(other)}:meta", "a", "b")
        #expect(await isDamaged { _ = try await journal.stream(other) })
        try server.command("HSET", "chappie:{\(other)}:meta", "version", "2")
        #expect(await isDamaged { _ = try await journal.take(other, owner: "a", lease: Self.lease) })
        try server.command("SET", "chappie:{\(id)}:records", "x")
        #expect(
            await isDamaged { try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease) })
        // A server that has evicted records.
        let (second, secondWriter) = try await self.create(journal)
        try await journal.append(self.batch(1, "one"), to: second, by: secondWriter, lease: Self.lease)
        try server.command("DEL", "chappie:{\(second)}:records")
        #expect(await isDamaged { _ = try await journal.records(of: second, after: 0, byteCount: 1) })
        await journal.shutdown()
    }

    // MARK: Users

    @Test func aUserOfTheAccessControlListLogsIn() async throws {
        let server = try RedisServer(options: ["--requirepass", "root"])
        let login = ["AUTH", "root"]
        for rule in [
            "ACL SETUSER app on >canary% ~chappie:* &chappie:* +@read +@write +@scripting +@pubsub +@connection +time",
            "ACL SETUSER deaf on >canary ~chappie:* resetchannels +@read +@write +@scripting +@pubsub +@connection +time",
            "ACL SETUSER weak on >canary ~chappie:* &chappie:* +@read +@connection",
        ] {
            let words = rule.split(separator: " ").map(String.init)
            #expect(try server.run(words, login: login) == .simple("OK"))
        }
        let host = "127.0.0.1:\(server.port)"
        let journal = try self.journal(server, url: "redis://app:canary%25@\(host)/0")
        let (id, writer) = try await self.create(journal, key: "k")
        async let woken: Void = journal.waitForRecords(of: id, after: 0, atMost: .seconds(600))
        try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        try await woken
        await journal.shutdown()

        // The messages of everything that can be wrong, none of which has a part of the login.
        for (user, words) in [
            ("app:canary-wrong@", "WRONGPASS"), ("canary-who:canary@", "WRONGPASS"), ("", "NOAUTH"),
            ("weak:canary@", "NOPERM"),
        ] {
            let journal = try self.journal(server, url: "redis://\(user)\(host)")
            let reason = await self.reason { _ = try await self.create(journal) }
            #expect(reason?.contains(words) == true && reason?.contains("canary") == false)
            await journal.shutdown()
        }
        // Without the right to listen, a writer works all the same.
        let deaf = try self.journal(server, url: "redis://deaf:canary@\(host)")
        try await deaf.append(self.batch(2, "two"), to: id, by: writer, lease: Self.lease)
        let reason = await self.reason { try await deaf.waitForRecords(of: id, after: 2, atMost: .seconds(600)) }
        #expect(reason?.contains("NOPERM") == true)
        await deaf.shutdown()
    }

    @Test func aDatabaseIsChosenAndOneThatIsMissingIsNamed() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server, url: server.url + "/3")
        let (id, _) = try await self.create(journal)
        #expect(try server.command("EXISTS", "chappie:{\(id)}:meta") == .integer(0))
        await journal.shutdown()
        let missing = try self.journal(server, url: server.url + "/99")
        let reason = await self.reason { _ = try await missing.stream(id) }
        #expect(reason == "127.0.0.1:\(server.port): the server has no database of this number (SELECT)")
        await missing.shutdown()
    }

    @Test func aConnectionWithTLSChecksTheCertificate() async throws {
        let folder = try RedisServer.makeFolder()
        try Certificates.make(in: folder)
        let port = try RedisServer.freePort()
        let server = try RedisServer(
            options: [
                "--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no",
                "--tls-cert-file", folder.appendingPathComponent("server.pem").path,
                "--tls-key-file", folder.appendingPathComponent("server.key").path,
                "--tls-ca-cert-file", folder.appendingPathComponent("ca.pem").path,
            ], folder: folder)
        var configuration = ChappieRedisJournal.Configuration()
        configuration.commandTimeout = .seconds(60)
        configuration.tls = .init(trust: .file(path: folder.appendingPathComponent("ca.pem").path))
        let journal = try ChappieRedisJournal(url: "rediss://localhost:\(port)", configuration: configuration)
        let (id, writer) = try await self.create(journal)
        let large = String(repeating: "x", count: 700_000)
        async let woken: Void = journal.waitForRecords(of: id, after: 0, atMost: .seconds(600))
        try await journal.append(self.batch(1, large, "two"), to: id, by: writer, lease: Self.lease)
        try await woken
        #expect(try await self.texts(journal, id) == [large, "two"])
        await journal.shutdown()

        let strict = try ChappieRedisJournal(url: "rediss://127.0.0.1:\(port)")
        let untrusted = await self.reason { _ = try await strict.stream(id) }
        #expect(untrusted == "127.0.0.1:\(port): its certificate was refused (unknown-issuer)")
        await strict.shutdown()
        configuration.tls = .init(trust: .file(path: "/nothing"))
        let blind = try ChappieRedisJournal(url: "rediss://127.0.0.1:\(port)", configuration: configuration)
        let unreadable = await self.reason { _ = try await blind.stream(id) }
        #expect(unreadable == "127.0.0.1:\(port): the file of trusted authorities cannot be read")
        await blind.shutdown()
        let plain = try ChappieRedisJournal(url: "redis://127.0.0.1:\(port)")
        #expect(await self.reason { _ = try await plain.stream(id) } != nil)
        await plain.shutdown()
        server.stop()
    }

    @Test func sentinelsNameTheMaster() async throws {
        let server = try RedisServer()
        let folder = try RedisServer.makeFolder()
        let sentinelPort = try RedisServer.freePort()
        let file = folder.appendingPathComponent("sentinel.conf")
        try "sentinel monitor main 127.0.0.1 \(server.port) 1\n".write(to: file, atomically: false, encoding: .utf8)
        let sentinel = try RedisServer(sentinel: file, port: sentinelPort, folder: folder)
        // The first one is not there.
        let hosts = "127.0.0.1:1,127.0.0.1:\(sentinelPort)"
        let journal = try self.journal(server, url: "redis+sentinel://\(hosts)/main")
        let (id, _) = try await self.create(journal)
        #expect(try server.command("EXISTS", "chappie:{\(id)}:meta") == .integer(1))
        await journal.shutdown()
        let other = try self.journal(server, url: "redis+sentinel://\(hosts)/other")
        let reason = await self.reason { _ = try await other.stream(id) }
        #expect(reason == "\(hosts): 127.0.0.1:\(sentinelPort): the Sentinel knows no master of this name")
        await other.shutdown()
        sentinel.stop()
    }

    // MARK: Two processes

    @Test func twoJournalsThatWantAStreamGetItOneAfterTheOther() async throws {
        let server = try RedisServer()
        let journals = try [self.journal(server), self.journal(server)]
        for round in 1...20 {
            let (id, first) = try await self.create(journals[0], owner: "creator")
            try await journals[0].release(id, by: first)
            let writers = try await withThrowingTaskGroup(of: ChappieJournalWriter?.self) { group in
                for index in 0..<10 {
                    group.addTask { try await journals[index % 2].take(id, owner: "\(index)", lease: Self.lease) }
                }
                return try await group.reduce(into: [ChappieJournalWriter]()) {
                    if let writer = $1 { $0.append(writer) }
                }
            }
            #expect(writers.count == 1 && writers.first?.epoch == 2, "round \(round)")
        }
        for journal in journals { await journal.shutdown() }
    }

    @Test func aNameThatTwoJournalsWantLeadsToOneStream() async throws {
        let server = try RedisServer()
        let journals = try [self.journal(server), self.journal(server)]
        for round in 1...20 {
            let ids = try await withThrowingTaskGroup(of: ChappieStreamID.self) { group in
                for index in 0..<10 {
                    group.addTask { try await self.create(journals[index % 2], key: "k\(round)", owner: "\(index)").0 }
                }
                return try await group.reduce(into: Set<ChappieStreamID>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
        }
        // The streams that the others had made are gone.
        #expect(try server.command("ZCARD", "chappie:expiries") == .integer(20))
        #expect(try server.command("ZCARD", "chappie:open") == .integer(20))
        for journal in journals { await journal.shutdown() }
    }

    @Test func aNameThatLeadsToNothingIsUsedAgain() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        // As a process leaves it that ends after a stream has vanished.
        try server.command("SET", "chappie:key:k", ChappieStreamID().description)
        let (id, _) = try await self.create(journal, key: "k")
        #expect(try server.command("GET", "chappie:key:k") == .bulk(Array(id.description.utf8)))
        // As one leaves it that ends before the stream is among the open ones.
        try server.command("DEL", "chappie:open")
        #expect(try await self.create(journal, key: "k").0 == id)
        #expect(try server.command("ZCARD", "chappie:open") == .integer(1))
        await journal.shutdown()
    }

    @Test func recordsOfAnotherProcessWakeAReader() async throws {
        let server = try RedisServer()
        let (writing, reading) = (try self.journal(server), try self.journal(server))
        let (id, writer) = try await self.create(writing)
        for position in 1...20 {
            async let woken: Void = reading.waitForRecords(of: id, after: position - 1, atMost: .seconds(600))
            try await writing.append(self.batch(position, "x"), to: id, by: writer, lease: Self.lease)
            try await woken
        }
        // So does the end of the stream, and the loss of it.
        async let deleted: Void = reading.waitForRecords(of: id, after: 20, atMost: .seconds(600))
        try await writing.delete(id)
        try await deleted
        await writing.shutdown()
        await reading.shutdown()
    }

    @Test func aStreamLeavesNothingBehind() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal, key: "a key with spaces")
        try await journal.append(self.batch(1, "end", closes: true), to: id, by: writer, lease: Self.lease)
        #expect(try server.command("PTTL", "chappie:{\(id)}:records") != .integer(-1))
        try server.pass(.seconds(4000), prefix: "chappie")
        #expect(try await journal.deleteExpired() == 1)
        let (second, _) = try await self.create(journal, key: "b")
        try await journal.delete(second)
        #expect(try server.command("DBSIZE") == .integer(0))
        await journal.shutdown()
    }

    @Test func manyStreamsAreSearchedForAbandonedOnes() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        var ids: [ChappieStreamID] = []
        for _ in 0..<300 { ids.append(try await self.create(journal).0) }
        // All seem to be over, and one in ten is.
        for (index, id) in ids.enumerated() {
            try server.command("ZADD", "chappie:open", "0", id.description)
            if index % 10 == 9 { try server.command("HSET", "chappie:{\(id)}:meta", "owner", "") }
        }
        let expected = stride(from: 9, to: 300, by: 10).map { ids[$0] }
        #expect(try await journal.abandonedStreams(limit: 100) == expected)
        #expect(try await journal.abandonedStreams(limit: 3).count == 3)
        await journal.shutdown()
    }

    @Test func recordsOfAnySizeAreReadInPieces() async throws {
        let server = try RedisServer()
        let journal = try self.journal(server)
        let (id, writer) = try await self.create(journal)
        var generator = SystemRandomNumberGenerator()
        let records = (0..<500).map { index in
            [UInt8](
                repeating: UInt8(truncatingIfNeeded: index),
                count: Int.random(in: 0...(index % 50 == 0 ? 20_000 : 80), using: &generator))
        }
        try await journal.append(
            ChappieJournalBatch(firstPosition: 1, records: records), to: id, by: writer, lease: Self.lease)
        for byteCount in [0, 1, 100, 5_000, 1 << 20] {
            var read: [ChappieJournalRecord] = []
            while read.count < records.count {
                let piece = try await journal.records(of: id, after: read.count, byteCount: byteCount)
                let size = piece.reduce(0) { $0 + $1.content.count }
                let next = read.count + piece.count
                #expect(piece.count == 1 || size <= byteCount)
                // No more would have fitted.
                if next < records.count { #expect(size + records[next].count > byteCount) }
                guard !piece.isEmpty else { break }
                read += piece
            }
            #expect(read.map(\.content) == records && read.map(\.position) == Array(1...500))
        }
        await journal.shutdown()
    }
}

/// A certification authority and a certificate for `localhost`, which `openssl` makes.
private enum Certificates {
    static func make(in folder: URL) throws {
        try self.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem",
            in: folder)
        try "subjectAltName=DNS:localhost\n".write(
            to: folder.appendingPathComponent("names"), atomically: false, encoding: .utf8)
        try self.openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=test -keyout server.key -out server.csr",
            in: folder)
        try self.openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
            in: folder)
    }

    private static func openssl(_ arguments: String, in folder: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RedisServer.Failure(description: "openssl: \(arguments)") }
    }
}
