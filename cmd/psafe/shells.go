package main

import (
	"fmt"
	"strings"
)

// bashScript is for bash 3.2 and later, without the package bash-completion.
func bashScript(commands []completed) string {
	var names []string
	var flags, values, operands strings.Builder
	for _, c := range commands {
		names = append(names, c.name)
		var list []string
		for _, f := range c.flags {
			list = append(list, "--"+f.name)
			if !f.isSwitch {
				fmt.Fprintf(&values, "        '%s --%s') words='%s' files='%s' value=y ;;\n", c.name, f.name, strings.Join(f.words, " "), yes(f.files))
			}
		}
		fmt.Fprintf(&flags, "        '%s') words='%s' ;;\n", c.name, strings.Join(list, " "))
		fmt.Fprintf(&operands, "        '%s') words='%s' files='%s' ;;\n", c.name, strings.Join(c.words, " "), yes(c.files))
	}
	return `# Completion of psafe for bash, made by "psafe completion bash".
_psafe() {
    local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"
    local words='' files='' value='' line
    COMPREPLY=()
    # bash splits --flag=value and the:words at their = and :.
    if [ "$cur" = '=' ]; then
        cur=''
    elif [ "$before" = '=' ]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='` + strings.Join(names, " ") + `'
    else
        case "$command $before" in
` + values.String() + `        esac
        if [ -z "$value" ]; then
            case "$cur" in
            -*) case "$command" in
` + flags.String() + `        esac ;;
            *) case "$command" in
` + operands.String() + `        esac ;;
            esac
        fi
    fi
    if [ -n "$words" ]; then
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(compgen -W "$words" -- "$cur")
    fi
    if [ -n "$files" ]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(compgen -f -- "$cur")
    fi
    case "${COMPREPLY[*]}" in
    *:) compopt -o nospace 2>/dev/null ;;
    esac
}
complete -F _psafe psafe
`
}

func yes(b bool) string {
	if b {
		return "y"
	}
	return ""
}

// zshScript is for zsh's own completion system.
func zshScript(commands []completed) string {
	var names, cases strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&names, "        '%s:%s'\n", c.name, zshText(c.about))
		fmt.Fprintf(&cases, "    %s)\n        _arguments -S \\\n", c.name)
		for _, f := range c.flags {
			equals, after := "", ""
			if !f.isSwitch {
				equals, after = "=", ": :"+zshAction(f.words, f.files) // --flag value and --flag=value
			}
			fmt.Fprintf(&cases, "            '--%s%s[%s]%s' \\\n", f.name, equals, zshText(f.about), after)
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&cases, "            '1: :%s' \\\n", zshAction(c.words, c.files))
		}
		if c.files {
			cases.WriteString("            '*: :_files' \\\n")
		}
		cases.WriteString("            && return 0\n        ;;\n")
	}
	return `#compdef psafe
# Completion of psafe for zsh, made by "psafe completion zsh".
_psafe() {
    local -a commands
    commands=(
` + names.String() + `    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
` + cases.String() + `    esac
}
if [ "$funcstack[1]" = _psafe ]; then
    _psafe "$@"
else
    compdef _psafe psafe
fi
`
}

// zshAction completes words, files or both; nothing is a message.
func zshAction(words []string, files bool) string {
	list := zshText(strings.Join(words, " "))
	switch {
	case len(words) > 0 && files:
		return ` _alternative "words\: \:(` + list + `)" "files\: \:_files"`
	case len(words) > 0:
		return "(" + list + ")"
	case files:
		return "_files"
	}
	return " "
}

// zshText escapes what ends a part of a specification.
func zshText(text string) string {
	return strings.NewReplacer(":", `\:`, "'", "").Replace(text)
}

// fishScript is for fish 3.
func fishScript(commands []completed) string {
	var b strings.Builder
	b.WriteString("# Completion of psafe for fish, made by \"psafe completion fish\".\ncomplete -c psafe -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c psafe -n __fish_use_subcommand -a %s -d %s\n", c.name, fishText(c.about))
	}
	for _, c := range commands {
		behind := fmt.Sprintf("complete -c psafe -n '__fish_seen_subcommand_from %s'", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, "%s -l %s%s -d %s\n", behind, f.name, fishValue(f.words, f.files, f.isSwitch), fishText(f.about))
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", behind, fishText(strings.Join(c.words, " ")))
		}
		if c.files {
			fmt.Fprintf(&b, "%s -F\n", behind)
		}
	}
	return b.String()
}

// fishValue is what follows a flag.
func fishValue(words []string, files, isSwitch bool) string {
	if isSwitch {
		return ""
	}
	out := " -x"
	if files {
		out = " -r -F"
	}
	if len(words) > 0 {
		out += " -a " + fishText(strings.Join(words, " "))
	}
	return out
}

func fishText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
