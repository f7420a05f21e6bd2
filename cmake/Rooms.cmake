# The rooms of the house, lowest layer first, and what each may include. This is the only list: the build links by it
# and tests/layers.py holds every #include to it, so keep to one weft_room(name allowed...) a line. A room may name only
# rooms above it in the list; ALL means every one of them. A room whose folder does not exist yet is passed over.
#
# Rooms that read, check and write files and talk to devices: the release build compiles them at -O1, which takes three
# quarters of the time of -O2. The others compute.
set(WEFT_LIGHT_ROOMS design config render probe check oob cli)

weft_room(base)
weft_room(model base)
weft_room(design base model)
weft_room(config base model)
weft_room(render base model)
weft_room(probe base config)
weft_room(check base model config design render)
weft_room(net base model)
weft_room(work base model net)
weft_room(sched base model)
weft_room(oob base model)
weft_room(control base model net sched oob)
weft_room(world base model net work sched oob control)
weft_room(serve ALL)
weft_room(cli ALL)

weft_room_sources(base LINK weft_libyaml fmt::fmt nlohmann_json::nlohmann_json OpenSSL::Crypto Threads::Threads
  ZLIB::ZLIB)
weft_room_sources(model SOURCES ${WEFT_CATALOG_SOURCE})
weft_room_sources(oob SOURCES ${WEFT_RUNBOOKS_SOURCE} LINK CURL::libcurl OpenSSL::SSL nlohmann_json::nlohmann_json)
if(WEFT_IPMI)
  weft_room_sources(oob LINK weft_freeipmi DEFINE WEFT_HAS_IPMI=1)
endif()
weft_room_sources(cli DEFINE WEFT_VERSION="${PROJECT_VERSION}")

weft_finish_rooms()
