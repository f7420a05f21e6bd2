# bash completion for weft, made by `weft completion bash`
_weft_offer() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_weft_files() {
  local -a files
  mapfile -t files < <(compgen -f -- "$1")
  COMPREPLY+=("${files[@]}")
  compopt -o filenames 2>/dev/null
}

_weft() {
  local cur=${COMP_WORDS[COMP_CWORD]} command='' waiting='' word i position=0
  [[ $cur == = ]] && cur=''
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $waiting ]]; then
      [[ $word == = ]] || waiting=''
      continue
    fi
    case $word in
      @OPTIONS@) waiting=$word ;;
      -*) ;;
      *)
        case $command in
          '') command=$word ;;
@GROUPS@
          *) position=$((position + 1)) ;;
        esac
        ;;
    esac
  done
  case $waiting in
@VALUES@
    ?*) return ;;
  esac
  if [[ $cur == -* ]]; then
    local options='@GLOBAL_OPTIONS@'
    case $command in
@COMMAND_OPTIONS@
    esac
    _weft_offer "$options" "$cur"
    return
  fi
  case $command:$position in
@ARGUMENTS@
  esac
}

complete -F _weft weft
