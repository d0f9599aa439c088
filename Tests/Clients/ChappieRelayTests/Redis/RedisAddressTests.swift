import ChappieRelay
import ChappieTransport
import Testing

@Suite struct RedisAddressTests {
    @Test func aURLHasAHostAndWhatIsLeftOutIsUsual() throws {
        let short = try RedisAddress("redis://cache")
        #expect(short.hosts == [.init(name: "cache", port: 6379)] && short.kind == .server)
        #expect(!short.isSecure && short.credential == nil && short.database == 0 && short.place == "cache:6379")
        let long = try RedisAddress("REDISS://app:p%40ss%3A@[::1]:7000/12")
        #expect(long.hosts == [.init(name: "::1", port: 7000)] && long.isSecure && long.database == 12)
        #expect(long.credential?.user == "app" && long.credential?.password == "p@ss:")
        #expect(long.place == "[::1]:7000")
        let unnamed = try RedisAddress("redis://:secret@10.0.0.1/")
        #expect(unnamed.credential?.user == nil && unnamed.credential?.password == "secret" && unnamed.database == 0)
        // The last @ ends the password.
        #expect(try RedisAddress("redis://a:b@c@host").credential?.password == "b@c")
        #expect(try RedisAddress("redis://@host").credential == nil)
    }

    @Test func sentinelsAreSeveralHostsAndAName() throws {
        let address = try RedisAddress("redis+sentinel://u:p@s1:26380,s2,[::2]:5/my%20master/3")
        #expect(address.kind == .sentinels(masterName: "my master") && address.database == 3)
        #expect(
            address.hosts
                == [.init(name: "s1", port: 26380), .init(name: "s2", port: 26379), .init(name: "::2", port: 5)])
        #expect(address.place == "s1:26380,s2:26379,[::2]:5")
    }

    @Test(
        arguments: [
            "", "cache", "cache:6379", "http://cache", "redis://", "redis:///0", "redis://:6379",
            "redis://canary@cache",
            "redis://canary:@cache", "redis://cache:0", "redis://cache:65536", "redis://cache:x", "redis://cache:",
            "redis://cache/x", "redis://cache/-1", "redis://cache/0/1", "redis://cache?db=1", "redis://cache#canary",
            "redis://a,b", "redis://ca che", "redis://[cache]", "redis://[::1", "redis://u:canary%4@cache",
            "redis://u:canary%zz@cache", "redis+sentinel://s1", "redis+sentinel://s1/", "redis+sentinel://s1/m/0/1",
            "redis+sentinel://s1,,s2/m", "redis://u:can/ary@cache", "redis://u:can?ary@cache",
        ])
    func invalidAddressesAreRefusedWithoutTheirText(_ url: String) throws {
        let error = #expect(throws: ChappieArgumentError.self) { try RedisAddress(url) }
        let text = "\(try #require(error)) \(String(reflecting: error))"
        #expect(!text.contains("canary") && !text.contains("ary@"))
    }

    @Test func noDescriptionHasThePassword() throws {
        let address = try RedisAddress("redis://someone:canary@cache")
        var dumped = ""
        dump(address, to: &dumped)
        let journal = try ChappieRedisJournal(url: "redis://someone:canary@127.0.0.1:1")
        dump(journal, to: &dumped)
        for text in ["\(address)", String(reflecting: address), dumped, "\(journal)", String(reflecting: journal)] {
            #expect(!text.contains("canary") && !text.contains("someone"))
        }
    }

    @Test func aPrefixWithBracesIsRefused() {
        for prefix in ["", "a{b", "a}b", String(repeating: "a", count: 101)] {
            var configuration = ChappieRedisJournal.Configuration()
            configuration.keyPrefix = prefix
            #expect(throws: ChappieArgumentError.self) {
                try ChappieRedisJournal(url: "redis://cache", configuration: configuration)
            }
        }
    }
}
