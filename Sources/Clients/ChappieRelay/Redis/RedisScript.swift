import LibwebsocketsTransport

/// A program that the server runs as one step (Lua 5.1), and what its answer begins with.
///
/// `KEYS[1]` is a stream's header, a hash, and `KEYS[2]` its records, a stream of the server's, unless a script says
/// otherwise. Time is the server's, in milliseconds. Numbers are doubles, which is exact for 2⁵³ records.
struct RedisScript: Sendable {
    /// The first element of an answer.
    enum Outcome: Int {
        case done = 0
        case unknownStream = 1
        case fenced = 2
        case closed = 3
        /// The position of the last record follows.
        case gap = 4
        /// The fields are another program's or version's.
        case damaged = 5
        /// The stream cannot be taken, or the identifier exists.
        case held = 6
    }

    /// The program.
    let text: String
    /// The name by which the server knows a program that it has run.
    let digest: String

    private init(_ body: String, readsHeader: Bool = true) {
        self.text = Self.functions + (readsHeader ? Self.header : "") + body
        self.digest = SHA1Digest.digest(of: Array(self.text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    /// The version of the header's fields.
    private static let functions = """
        local version = '1'
        local function now()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end
        -- A stream is kept for its retention, and for as long as a writer holds it.
        local function keep(changed, retention, lease, isOpen)
          local time = changed + retention
          if isOpen and lease > time then time = lease end
          redis.call('PEXPIREAT', KEYS[1], time)
          redis.call('PEXPIREAT', KEYS[2], time)
        end

        """

    /// Reads the header's fields, and ends a script for a stream that is unknown or another program's.
    private static let header = """
        local fields = redis.call('HMGET', KEYS[1], 'version', 'epoch', 'owner', 'lease', 'last', 'closed', 'cancelled',
          'retention', 'changed', 'reader')
        if not fields[1] then return { redis.call('EXISTS', KEYS[1]) == 1 and 5 or 1 } end
        if fields[1] ~= version then return { 5, fields[1] } end
        local epoch, owner, lease, last = tonumber(fields[2]), fields[3], tonumber(fields[4]), tonumber(fields[5])
        local isClosed, cancelled = fields[6] == '1', tonumber(fields[7])
        local retention, changed = tonumber(fields[8]), tonumber(fields[9])
        -- The time until which the stream has a reader; there is none before the first.
        local reader = tonumber(fields[10] or 0)
        if not (epoch and owner and lease and last and cancelled and retention and changed) then return { 5 } end

        """

    /// Creates a stream.
    ///
    /// Arguments: owner, lease, retention, a mark of the call, header, and the key if there is one. A second run with
    /// the same mark changes nothing.
    static let create = RedisScript(
        """
        if redis.call('EXISTS', KEYS[1]) == 1 then
          return { redis.call('HGET', KEYS[1], 'created_by') == ARGV[4] and 0 or 6 }
        end
        local time = redis.call('TIME')
        local milliseconds = now()
        redis.call('HSET', KEYS[1], 'version', version, 'epoch', 1, 'owner', ARGV[1], 'lease', milliseconds + ARGV[2],
          'last', 0, 'closed', 0, 'cancelled', 0, 'retention', ARGV[3], 'changed', milliseconds,
          'created', time[1] * 1000000 + time[2], 'created_by', ARGV[4], 'header', ARGV[5])
        if ARGV[6] then redis.call('HSET', KEYS[1], 'key', ARGV[6]) end
        keep(milliseconds, tonumber(ARGV[3]), milliseconds + ARGV[2], true)
        return { 0 }
        """, readsHeader: false)

    /// Returns epoch, owner or nil, last position, whether it is closed or to be ended, key or nil, and header.
    static let describe = RedisScript(
        """
        local texts = redis.call('HMGET', KEYS[1], 'key', 'header')
        local isHeld = owner ~= '' and now() < lease
        return { 0, epoch, isHeld and owner, last, isClosed and 1 or 0, cancelled, texts[1], texts[2] }
        """)

    /// Appends records, and returns whether the end is asked for, and whether there is a reader.
    ///
    /// Arguments: channel, epoch, owner, first position, whether the last one is the end, lease, records.
    static let append = RedisScript(
        """
        if epoch ~= tonumber(ARGV[2]) or owner ~= ARGV[3] then return { 2 } end
        local first, count = tonumber(ARGV[4]), #ARGV - 6
        local known = last - first + 1
        if known < 0 then return { 4, last } end
        local time = now()
        local hasReader = reader and time < reader and 1 or 0
        if known >= count then return { 0, cancelled, hasReader } end
        if isClosed then return { 3 } end
        for index = known + 1, count do
          redis.call('XADD', KEYS[2], string.format('%.0f-0', first + index - 1), 'c', ARGV[6 + index])
        end
        lease = time + ARGV[6]
        redis.call('HSET', KEYS[1], 'last', first + count - 1, 'closed', ARGV[5], 'lease', lease, 'changed', time)
        keep(time, retention, lease, ARGV[5] ~= '1')
        -- Nothing above may be undone because the user may not publish: a reader learns that when it listens.
        redis.pcall('PUBLISH', ARGV[1], first + count - 1)
        return { 0, cancelled, hasReader }
        """)

    /// Returns the records behind a position, as one list.
    ///
    /// Arguments: position, size.
    static let records = RedisScript(
        """
        local position, room = tonumber(ARGV[1]), tonumber(ARGV[2])
        local records, count, size = {}, 0, 0
        while position < last do
          -- As many as fit if they are like those before; the first ones show what they are like.
          local page = 8
          if count > 0 then page = math.min(1000, math.max(1, math.ceil((room - size) * count / math.max(size, 1)))) end
          local entries = redis.call('XRANGE', KEYS[2], string.format('%.0f-0', position + 1), '+', 'COUNT', page)
          if #entries == 0 then return { 5 } end
          for _, entry in ipairs(entries) do
            if entry[1] ~= string.format('%.0f-0', position + 1) or not entry[2][2] then return { 5 } end
            size = size + #entry[2][2]
            if count > 0 and size > room then return { 0, records } end
            position, count = position + 1, count + 1
            records[count] = entry[2][2]
          end
        end
        return { 0, records }
        """)

    /// Takes a stream whose lease is over, and returns the epoch.
    ///
    /// Arguments: owner, lease, a mark of the call. A second run with the same mark returns the same.
    static let take = RedisScript(
        """
        local time = now()
        if isClosed then return { 6 } end
        if owner == ARGV[1] and redis.call('HGET', KEYS[1], 'taken_by') == ARGV[3] then return { 0, epoch } end
        if owner ~= '' and time < lease then return { 6 } end
        lease = time + ARGV[2]
        redis.call('HSET', KEYS[1], 'epoch', epoch + 1, 'owner', ARGV[1], 'lease', lease, 'taken_by', ARGV[3])
        keep(changed, retention, lease, true)
        return { 0, epoch + 1 }
        """)

    /// Renews a lease, and returns whether the end is asked for, and whether there is a reader.
    ///
    /// Arguments: epoch, owner, lease.
    static let renew = RedisScript(
        """
        if epoch ~= tonumber(ARGV[1]) or owner ~= ARGV[2] then return { 2 } end
        local time = now()
        lease = time + ARGV[3]
        redis.call('HSET', KEYS[1], 'lease', lease)
        keep(changed, retention, lease, not isClosed)
        return { 0, cancelled, reader and time < reader and 1 or 0 }
        """)

    /// Ends a lease: epoch.
    static let release = RedisScript(
        """
        if epoch ~= tonumber(ARGV[1]) then return { 2 } end
        redis.call('HSET', KEYS[1], 'owner', '')
        keep(changed, retention, 0, false)
        return { 0 }
        """)

    /// Asks for the end of a stream.
    static let cancel = RedisScript(
        """
        redis.call('HSET', KEYS[1], 'cancelled', 1)
        return { 0 }
        """)

    /// Says that a stream has a reader, for a number of milliseconds.
    static let note = RedisScript(
        """
        redis.call('HSET', KEYS[1], 'reader', now() + ARGV[1])
        return { 0 }
        """)

    /// Deletes a stream, and returns its key or nil.
    ///
    /// Arguments: channel.
    static let delete = RedisScript(
        """
        local key = redis.call('HGET', KEYS[1], 'key')
        redis.call('UNLINK', KEYS[1], KEYS[2])
        redis.pcall('PUBLISH', ARGV[1], 0)
        return { 0, key }
        """)

    /// Returns whether a stream is held, with the rest of its lease, or can be taken, with the time of its creation.
    static let inspect = RedisScript(
        """
        if isClosed then return { 3 } end
        local time = now()
        if owner ~= '' and time < lease then return { 6, lease - time } end
        return { 0, redis.call('HGET', KEYS[1], 'created') }
        """)

    /// Lets a name (`KEYS[1]`) lead to an identifier, unless it leads elsewhere than expected; 6 if it does.
    ///
    /// Arguments: the expected identifier and the new one, each of which may be empty for none.
    static let claim = RedisScript(
        """
        local known = redis.call('GET', KEYS[1]) or ''
        if known == ARGV[2] then return { 0 } end
        if known ~= ARGV[1] then return { 6 } end
        if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
        return { 0 }
        """, readsHeader: false)

    /// Puts a member into a sorted set (`KEYS[1]`): the member, in how many milliseconds it is due, `NX`, `XX` or `CH`.
    static let schedule = RedisScript(
        """
        redis.call('ZADD', KEYS[1], ARGV[3], now() + ARGV[2], ARGV[1])
        return { 0 }
        """, readsHeader: false)

    /// Returns the members of a sorted set (`KEYS[1]`) that are due, at most `ARGV[1]`.
    static let due = RedisScript(
        """
        return { 0, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[1]) }
        """, readsHeader: false)
}
