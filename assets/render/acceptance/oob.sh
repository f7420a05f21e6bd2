#!/bin/sh
# Checks that every BMC, switch and PDU responds on the out-of-band network. Run on a jump host. BMC_USER and
# IPMI_PASSWORD come from the secret store; nothing is saved here.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
# shellcheck source=/dev/null
. "$HERE/lib.sh"
while IFS="$(printf '\t')" read -r name where protocol; do
  case "$name" in '#'*) continue ;; esac
  case "$protocol" in
  redfish)
    # The service root requires no authentication (DMTF DSP0266, 13.3).
    code=$(curl --silent --max-time 10 ${BMC_CA:+--cacert "$BMC_CA"} --output /dev/null --write-out '%{http_code}' "https://$where/redfish/v1/" < /dev/null)
    equals oob "$name" "$code" "HTTP status" 200
    ;;
  ipmi)
    state=$(ipmitool -I lanplus -C 17 -H "$where" -U "${BMC_USER:?}" -E chassis power status 2>/dev/null < /dev/null)
    equals oob "$name" "$state" "" "Chassis Power is on"
    ;;
  ping)
    if ping -c 1 -W 2 "$where" > /dev/null 2>&1 < /dev/null; then got=answers; else got=silent; fi
    equals oob "$name" "$got" "" answers
    ;;
  esac
done < "$HERE/bmc.tsv"
exit "$FAILED"
