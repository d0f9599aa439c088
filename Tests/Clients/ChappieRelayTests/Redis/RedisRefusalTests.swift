import ChappieRelay
import Testing

/// The meaning of a server's errors, in the words of versions 6 and 7.
@Suite struct RedisRefusalTests {
    @Test(
        arguments: [
            ("WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE"),
            ("WRONGTYPE Operation against a key script: 0a1b, on @user_script:3.", "WRONGTYPE"),
            (
                "ERR Error running script (call to f_0a1b): @user_script:3: WRONGTYPE Operation against a key",
                "WRONGTYPE"
            ),
            ("ERR Error running script (call to f_0a1b): @user_script:3: -OOM command not allowed", "OOM"),
            ("OOM command not allowed when used memory > 'maxmemory'. script: 0a1b, on @user_script:1.", "OOM"),
            ("READONLY You can't write against a read only replica.", "READONLY"),
            ("NOPERM this user has no permissions to run the 'evalsha' command", "NOPERM"),
            ("NOPERM User canary has no permissions to run the 'evalsha' command", "NOPERM"),
            ("ERR ACL failure in script: User canary has no permissions to run the 'time' command", "NOPERM"),
            ("ERR The user executing the script can't run this command or subcommand script: 0a1b", "NOPERM"),
            ("LOADING Redis is loading the dataset in memory", "LOADING"),
            ("MOVED 3999 127.0.0.1:6381", "MOVED"), ("ASK 3999 127.0.0.1:6381", "ASK"),
            ("ERR unknown command 'AUTH', with args beginning with: 'canary'", "ERR"), ("", "ERR"), ("odd text", "ERR"),
            ("NEWCODE canary", "NEWCODE"),
        ])
    func theCodeOfAnErrorIsItsFirstWord(_ error: String, _ code: String) {
        #expect(RedisRefusal.code(of: error) == code)
        let text = "\(RedisRefusal.failure(error, at: "cache:6379")) \(RedisRefusal.reason(ofGreeting: error))"
        #expect(text.contains("cache:6379") && !text.contains("canary") && !text.contains("127.0.0.1"))
        #expect(code == "ERR" || text.contains(code))
    }

    @Test(
        arguments: [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "ERR user_script:5: attempt to perform arithmetic on a nil value script: 0a1b, on @user_script:5.",
            "ERR The ID specified in XADD is equal or smaller than the target stream top item script: 0, on @user_script:9.",
        ])
    func valuesThatAScriptCannotUseAreDamage(_ error: String) {
        guard case .damaged(let reason) = RedisRefusal.failure(error, at: "cache:6379") else {
            Issue.record("\(error)")
            return
        }
        #expect(reason.hasPrefix("cache:6379: "))
    }

    @Test(
        arguments: [
            "ERR Unknown Redis command called from script script: 0a1b, on @user_script:1.", "MISCONF Errors writing",
            "BUSY Redis is busy running a script.", "CLUSTERDOWN The cluster is down",
            "NOAUTH Authentication required.",
            "WRONGPASS invalid username-password pair or user is disabled.", "MASTERDOWN Link with MASTER is down",
            "NOREPLICAS Not enough good replicas to write.", "ERR max number of clients reached",
        ])
    func everythingElseIsUnavailable(_ error: String) {
        guard case .unavailable(let reason) = RedisRefusal.failure(error, at: "cache:6379") else {
            Issue.record("\(error)")
            return
        }
        #expect(reason.hasPrefix("cache:6379: the "))
    }
}
