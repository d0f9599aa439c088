// Completions for shells, from the syntax of the commands. Pure: syntax in, text out.

/// A shell that completions are made for.
enum CompletionShell: String, CaseIterable {
    case bash
    case zsh
    case fish

    /// Returns the shell's script for the program `chappie`.
    func script(for commands: [CommandSyntax]) -> String {
        switch self {
        case .bash: BashCompletion.script(for: commands)
        case .zsh: ZshCompletion.script(for: commands)
        case .fish: FishCompletion.script(for: commands)
        }
    }
}

/// The script for bash 4 or newer (`mapfile`), which needs no other package.
private enum BashCompletion {
    static func script(for commands: [CommandSyntax]) -> String {
        let names = commands.map(\.name) + ["help", "--help", "--version"]
        let cases = commands.map { command in
            """
                    \(command.name))
            \(Self.values(of: command))            candidates='\(command.allOptions.map { "--" + $0.name }.joined(separator: " "))'
                        words='\(command.operandValues.joined(separator: " "))'
                        ;;

            """
        }
        return """
            # Completions of chappie for bash: source <(chappie completion bash)
            _chappie() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} candidates= words=
                COMPREPLY=()
                # In --name=value the equals sign is a word of its own.
                if [[ $word == = ]]; then
                    word=
                elif [[ $previous == = ]]; then
                    previous=${COMP_WORDS[COMP_CWORD-2]}
                fi
                if ((COMP_CWORD == 1)); then
                    mapfile -t COMPREPLY < <(compgen -W '\(names.joined(separator: " "))' -- "$word")
                    return
                fi
                case ${COMP_WORDS[1]} in
                    help) words='\(commands.map(\.name).joined(separator: " "))' ;;
            \(cases.joined())    esac
                [[ $word == -* ]] || candidates=$words
                mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$word")
            }
            complete -o default -F _chappie chappie

            """
    }

    /// Returns the branches of options with a value: fixed words, or files by bash's default.
    private static func values(of command: CommandSyntax) -> String {
        let options = command.allOptions.filter { $0.valueName != nil }
        func pattern(_ options: [CommandSyntax.Option]) -> String {
            options.map { "--" + $0.name }.joined(separator: "|")
        }
        var branches = options.filter { !$0.values.isEmpty }.map { option in
            """
                            --\(option.name))
                                mapfile -t COMPREPLY < <(compgen -W '\(option.values.joined(separator: " "))' -- "$word")
                                return
                                ;;

            """
        }
        let others = options.filter { $0.values.isEmpty }
        if !others.isEmpty { branches.append("                \(pattern(others))) return ;;\n") }
        guard !branches.isEmpty else { return "" }
        return "            case $previous in\n" + branches.joined() + "            esac\n"
    }
}

/// The script for zsh, which may stand in a folder of `fpath` as `_chappie`, or be sourced.
private enum ZshCompletion {
    static func script(for commands: [CommandSyntax]) -> String {
        let names = commands.map { "        \(Self.quoted("\($0.name):\($0.summary)"))\n" }.joined()
        let cases = commands.map { command in
            let words = "(\(command.operandValues.joined(separator: " ")))"
            let action = command.operandValues.isEmpty ? "_files" : words
            let operand = command.operand.map { " \(Self.quoted(":\($0):\(action)"))" } ?? ""
            let options = command.allOptions.map { " \\\n                \(Self.specification($0))" }.joined()
            return "        \(command.name))\n            _arguments\(options)\(operand)\n            ;;\n"
        }
        return """
            #compdef chappie
            # Completions of chappie for zsh: source <(chappie completion zsh)
            _chappie() {
                local -a commands=(
            \(names)        'help:Prints the help of a command.'
                )
                if ((CURRENT == 2)); then
                    _describe command commands
                    _values option --help --version
                    return
                fi
                local name=$words[2]
                shift words
                ((CURRENT--))
                case $name in
                    help) _describe command commands ;;
            \(cases.joined())    esac
            }
            if [[ $funcstack[1] == _chappie ]]; then _chappie "$@"; else compdef _chappie chappie; fi

            """
    }

    private static func specification(_ option: CommandSyntax.Option) -> String {
        let special: Set<Character> = ["[", "]", ":", "\\"]
        let summary = option.summary.reduce(into: "") { text, character in
            if special.contains(character) { text += "\\" }
            text.append(character)
        }
        guard let name = option.valueName else { return Self.quoted("*--\(option.name)[\(summary)]") }
        let values = option.values.joined(separator: " ")
        let words = values.isEmpty ? "" : "(\(values))"
        let files = values.isEmpty ? "_files" : "{compadd -- \(values); _files}"
        let action = option.takesFolder ? "_files -/" : option.takesFile ? files : words
        return Self.quoted("*--\(option.name)=[\(summary)]:\(name.replacing(":", with: "\\:")):\(action)")
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
}

/// The script for fish.
private enum FishCompletion {
    static func script(for commands: [CommandSyntax]) -> String {
        var lines = ["# Completions of chappie for fish: chappie completion fish | source", "complete -c chappie -f"]
        for command in commands {
            lines.append(
                "complete -c chappie -n __fish_use_subcommand -a \(command.name) -d \(Self.quoted(command.summary))")
        }
        lines.append("complete -c chappie -n __fish_use_subcommand -a help -d 'Prints the help of a command.'")
        for name in ["help", "version"] { lines.append("complete -c chappie -n __fish_use_subcommand -l \(name)") }
        let names = Self.quoted(commands.map(\.name).joined(separator: " "))
        lines.append("complete -c chappie -n '__fish_seen_subcommand_from help' -a \(names)")
        for command in commands {
            let condition = "complete -c chappie -n '__fish_seen_subcommand_from \(command.name)'"
            if !command.operandValues.isEmpty {
                lines.append("\(condition) -a \(Self.quoted(command.operandValues.joined(separator: " ")))")
            }
            for option in command.allOptions {
                var line = "\(condition) -l \(option.name) -d \(Self.quoted(option.summary))"
                if option.valueName != nil { line += option.takesFile || option.takesFolder ? " -r -F" : " -x" }
                if !option.values.isEmpty { line += " -a \(Self.quoted(option.values.joined(separator: " ")))" }
                lines.append(line)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: #"\\"#).replacing("'", with: #"\'"#) + "'"
    }
}

extension CommandSyntax.Option {
    /// Indicates whether the value is the path of a file.
    fileprivate var takesFile: Bool { self.valueName?.split(separator: "|").contains("FILE") == true }

    /// Indicates whether the value is the path of a folder.
    fileprivate var takesFolder: Bool { self.valueName == "DIR" }
}
