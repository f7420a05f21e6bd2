# fish completion for weft, made by `weft completion fish`
function __weft_words
    set -l tokens (commandline -opc)
    set -l waiting 0
    for token in $tokens[2..-1]
        if test $waiting -eq 1
            set waiting 0
            continue
        end
        switch $token
            case @OPTIONS@
                set waiting 1
            case '-*'
            case '*'
                echo -- $token
        end
    end
end

# __weft_at POSITION [WORD...]: the words are these, and POSITION (or, for '*', any number of) further ones.
function __weft_at
    set -l words (__weft_words)
    set -l wanted $argv[2..-1]
    set -l length (count $wanted)
    set -l more (math (count $words) - $length)
    if test $more -lt 0
        return 1
    end
    if test $length -gt 0
        set -l first $words[1..$length]
        if test "$first" != "$wanted"
            return 1
        end
    end
    test "$argv[1]" = '*'; or test "$argv[1]" -eq $more
end

complete -c weft -f
