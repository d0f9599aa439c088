import ChappieTransport
import TransportSurface

// The properties of requests and configurations that cannot be sent. Pure; the turn that has one ends before anything
// is sent.

extension ChappieResponseRequest {
    /// The first fault of a property, with its name; nil when the request can be sent.
    var fault: ChappieArgumentError? { self.faultOfText ?? self.faultOfMetadata ?? self.faultOfSampling }

    private var faultOfText: ChappieArgumentError? {
        for (index, message) in self.messages.enumerated() {
            if let fault = message.parts.fault(in: "messages[\(index)].parts") { return fault }
        }
        let lines = [
            ("model", self.model), ("promptCacheKey", self.promptCacheKey),
        ].compactMap { name, text in text.flatMap(TextRule.line).map { ChappieArgumentError(name, $0) } }
        let words = [
            ("reasoningEffort", self.reasoningEffort?.rawValue), ("serviceTier", self.serviceTier?.rawValue),
            ("truncation", self.truncation?.rawValue), ("previousResponseID", self.previousResponseID),
        ].compactMap { name, text in text.flatMap(TextRule.word).map { ChappieArgumentError(name, $0) } }
        let included = (self.include ?? []).enumerated().compactMap { index, kind in
            TextRule.word(kind.rawValue).map { ChappieArgumentError("include[\(index)]", $0) }
        }
        let choice = self.toolChoice?.fault.map { ChappieArgumentError("toolChoice", $0) }
        return lines.first ?? words.first ?? included.first ?? choice
    }

    /// The limits of the Responses API.
    private var faultOfMetadata: ChappieArgumentError? {
        guard let metadata = self.metadata else { return nil }
        func refused(_ reason: String) -> ChappieArgumentError { ChappieArgumentError("metadata", reason) }
        if metadata.count > 16 { return refused("has more than 16 members") }
        if metadata.keys.contains("") { return refused("has an empty key") }
        if metadata.keys.contains(where: { $0.unicodeScalars.count > 64 }) {
            return refused("has a key that is longer than 64 characters")
        }
        guard metadata.values.contains(where: { $0.unicodeScalars.count > 512 }) else { return nil }
        return refused("has a value that is longer than 512 characters")
    }

    private var faultOfSampling: ChappieArgumentError? {
        if let temperature = self.temperature, !(temperature >= 0 && temperature.isFinite) {
            return ChappieArgumentError("temperature", "is negative, or not a finite number")
        }
        guard let share = self.topP, !(0...1).contains(share) else { return nil }
        return ChappieArgumentError("topP", "is not a number from 0 to 1")
    }
}

extension ChappieConfiguration {
    /// The first fault of a property that is a part of every request, apart from the model; nil when requests can be
    /// sent.
    var fault: ChappieArgumentError? {
        if let fault = self.reasoningEffort.flatMap({ TextRule.word($0.rawValue) }) {
            return ChappieArgumentError("reasoningEffort", fault)
        }
        if let fault = self.serviceTier.flatMap({ TextRule.word($0.rawValue) }) {
            return ChappieArgumentError("serviceTier", fault)
        }
        for (index, tool) in self.tools.enumerated() {
            if let fault = tool.declaration.fault(in: "tools[\(index)]") { return fault }
        }
        // A host tool replaces the harness's tool of the same name.
        let replaced = Set(self.tools.map(\.name))
        for (index, tool) in self.harness.tools.enumerated() where !replaced.contains(tool.name) {
            if let fault = tool.declaration.fault(in: "harness.tools[\(index)]") { return fault }
        }
        return nil
    }
}

extension ToolDeclaration {
    /// Returns the fault of the tool at a place; nil when it can be declared.
    fileprivate func fault(in place: String) -> ChappieArgumentError? {
        if let fault = TextRule.name(self.name) { return ChappieArgumentError("\(place).name", fault) }
        switch self.input {
        case .schema(let schema, _):
            return schema.faultOfSchema.map { ChappieArgumentError("\(place).inputSchema", $0) }
        case .text(.grammar(_, let definition)) where definition.isEmpty:
            return ChappieArgumentError("\(place).format", "is a grammar without a definition")
        case .text: return nil
        }
    }
}

extension ChappieJSONValue {
    /// The fault of a value that is to be a schema; nil when it can be sent.
    var faultOfSchema: String? {
        guard case .object = self else { return "is not a JSON object" }
        return self.isFinite ? nil : "has a number that is not finite, which JSON does not have"
    }

    /// Indicates whether all numbers are finite.
    private var isFinite: Bool {
        switch self {
        case .number(let number): number.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .object(let members): members.values.allSatisfy(\.isFinite)
        case .string, .bool, .null: true
        }
    }
}
