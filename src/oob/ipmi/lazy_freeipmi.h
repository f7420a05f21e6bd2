// The functions of FreeIPMI (libfreeipmi and libipmiconsole) that weft calls, loaded at the first call: see
// lazy/library.h. Include this instead of FreeIPMI's own headers. IpmiSession::open() and open_ipmi_console()
// return an error if a library is missing; what they return is needed to call anything else here, except in tests.
#pragma once

#include <freeipmi/freeipmi.h>
#include <ipmiconsole.h>

#include "lazy/library.h"

namespace weft::oob {

// The build reads the SONAMEs from the libraries that belong to the headers (cmake/Dependencies.cmake).
inline constinit LazyLibrary libfreeipmi(WEFT_FREEIPMI_SONAME);
inline constinit LazyLibrary libipmiconsole(WEFT_IPMICONSOLE_SONAME);

WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_cmd_raw);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_ctx_create);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_ctx_destroy);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_ctx_errnum);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_ctx_open_outofband_2_0);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_ctx_strerror);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_ctx_create);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_ctx_destroy);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_next);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_open_device_id_with_buffer);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_product_info_area);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_read_data_area);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_fru_type_length_field_to_string);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_get_sensor_type_string);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_iana_enterprise_numbers_string);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_interpret_ctx_create);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_interpret_ctx_destroy);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_interpret_sel);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_interpret_sensor);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_rmcpplus_init);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_ctx_create);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_ctx_destroy);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_event_reading_type_code);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_id_string);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_decoding_data);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_number);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_owner_id);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_owner_lun);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_record_sharing);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_type);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sdr_parse_sensor_units);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sel_ctx_create);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sel_ctx_destroy);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sel_parse_read_record_string);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sensor_decode_value);
WEFT_LAZY_FUNCTION(libfreeipmi, ipmi_sensor_units_string);

WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_create);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_destroy);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_errnum);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_fd);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_status);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_ctx_strerror);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_engine_init);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_engine_submit);
WEFT_LAZY_FUNCTION(libipmiconsole, ipmiconsole_engine_teardown);

}  // namespace weft::oob
