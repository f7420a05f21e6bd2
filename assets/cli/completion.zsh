#compdef weft
# zsh completion for weft, made by `weft completion zsh`
_weft() {
  local command='' waiting='' word i position=0
  local -a offers
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    if [[ -n $waiting ]]; then
      waiting=''
      continue
    fi
    case $word in
      (@OPTIONS@) waiting=$word ;;
      (-*) ;;
      (*)
        case $command in
          ('') command=$word ;;
@GROUPS@
          (*) position=$((position + 1)) ;;
        esac
        ;;
    esac
  done
  if [[ -z $waiting && ${words[CURRENT]} == --*=* ]]; then
    waiting=${words[CURRENT]%%=*}
    compset -P '*='
  fi
  case $waiting in
@VALUES@
    (?*) return 1 ;;
  esac
  if [[ ${words[CURRENT]} == -* ]]; then
    offers=(@GLOBAL_OPTIONS@)
    case $command in
@COMMAND_OPTIONS@
    esac
    _describe -o -t options options offers
    return
  fi
  case $command:$position in
@ARGUMENTS@
  esac
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _weft "$@"
else
  compdef _weft weft
fi
