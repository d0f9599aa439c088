// The differences between servers of Chat Completions in what they take. A value.

/// The form in which a server of Chat Completions takes a request.
package struct ChatForm: Equatable, Sendable {
    /// The place of pictures and files that the output of a call has.
    package enum OutputMedia: Equatable, Sendable {
        /// The message with the output: Ollama, OpenRouter, llama.cpp and Mistral take them there (recorded). Mistral
        /// refuses a message of the user behind one (reported: datapizza-labs/datapizza-ai issue 98).
        case inOutputs
        /// A message of the user behind the outputs: OpenAI takes only text in outputs (reported: Gitlawb/openclaude pull
        /// request 237).
        case behindOutputs
    }

    /// The member for the largest number of tokens of the answer.
    package var limitName = "max_tokens"
    /// The place of pictures and files that the output of a call has.
    package var outputMedia = OutputMedia.inOutputs
    /// Indicates whether `stream_options` ask for the usage: Mistral refuses them, and sends the usage all the same
    /// (reported: dnakov/anon-kode issue 53).
    package var asksForUsage = true

    /// The members of reasoning that the server takes in messages, where it refuses others; nil is all.
    ///
    /// Such a server takes no further members of calls either. They come from another server of the conversation.
    package var takenMembers: Set<String>?

    /// Creates the form that most servers take.
    package init() {}

    /// The form that OpenAI's servers take, whose reasoning models refuse `max_tokens`; most others do not know
    /// `max_completion_tokens`.
    package static let openAI: Self = {
        var form = Self()
        form.limitName = "max_completion_tokens"
        form.outputMedia = .behindOutputs
        return form
    }()
}
