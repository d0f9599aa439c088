import StreamSession
import StreamTransport

// The numbers of a configuration as the engine reads them. They are plain variables, so a caller can set any value; the
// engine bounds them once, when it is made, and reads only the bounded ones.

extension ChappieTransportConfiguration {
    /// The same configuration with every number in its range; a value outside becomes the nearest one inside.
    var bounded: Self {
        var copy = self
        copy.policy = self.dialect.hasWebSocket ? self.policy.bounded : self.policy.withoutWebSocket.bounded
        copy.rateLimitBackoff = self.rateLimitBackoff.bounded
        copy.circuitBreaker = self.circuitBreaker.bounded
        copy.maxHTTPRetries = max(0, self.maxHTTPRetries)
        copy.reconnectDelay = self.reconnectDelay.bounded
        copy.timeouts = self.timeouts.bounded
        copy.limits = self.limits.bounded
        copy.serviceThreadCount = min(max(1, self.serviceThreadCount), 64)
        return copy
    }
}

extension ChappieStreamingTransportPolicy {
    /// The policy that never uses a WebSocket, with the same recovery.
    package var withoutWebSocket: Self {
        var policy = Self.httpSSEOnly
        policy.recovery = self.recovery
        policy.carriesFinishedItems = self.carriesFinishedItems
        policy.divergence = self.divergence
        policy.maxRestarts = self.maxRestarts
        return policy
    }

    fileprivate var bounded: Self {
        var copy = self
        copy.hedgeDelay = self.hedgeDelay?.bounded
        copy.maximumConnectionAge = self.maximumConnectionAge?.bounded
        copy.livenessCheckDelay = self.livenessCheckDelay?.bounded
        if case .adaptive(let cooldown) = self.fallback { copy.fallback = .adaptive(cooldown: cooldown.bounded) }
        return copy
    }
}

extension ChappieRateLimitBackoffPolicy {
    fileprivate var bounded: Self {
        Self(
            maxRetries: self.maxRetries, initialDelay: self.initialDelay.bounded,
            maximumDelay: self.maximumDelay.bounded, respectsRetryAfterHeader: self.respectsRetryAfterHeader)
    }
}

extension ChappieCircuitBreakerPolicy {
    fileprivate var bounded: Self {
        Self(failureThreshold: self.failureThreshold, openDuration: self.openDuration.bounded)
    }
}

extension ChappieTimeouts {
    /// The same time limits, each in its range.
    var bounded: Self {
        var copy = self
        copy.connect = self.connect?.bounded
        copy.firstEvent = self.firstEvent?.bounded
        copy.idle = self.idle?.bounded
        copy.progress = self.progress?.bounded
        copy.stall = self.stall?.bounded
        copy.total = self.total?.bounded
        copy.pingInterval = self.pingInterval?.bounded
        copy.pongTimeout = self.pongTimeout.bounded
        copy.livenessCheck = self.livenessCheck.bounded
        return copy
    }
}

extension ChappieLimits {
    fileprivate var bounded: Self {
        var copy = self
        copy.eventByteCount = self.eventByteCount.boundedByteCount
        copy.outputByteCount = self.outputByteCount.boundedByteCount
        copy.errorBodyByteCount = self.errorBodyByteCount.boundedByteCount
        // Reading stops at one unread byte at least, and resumes below the mark at which it has stopped.
        copy.highWatermark = max(1, self.highWatermark.boundedByteCount)
        copy.lowWatermark = min(self.lowWatermark.boundedByteCount, copy.highWatermark - 1)
        return copy
    }
}
