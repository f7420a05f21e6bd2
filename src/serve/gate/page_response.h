// The response that a page of the server is sent with: what it may load, and that it is not kept. Internal to
// serve/gate.
#pragma once

#include <string>

#include "serve/http/message.h"

namespace weft::serve {

[[nodiscard]] HttpResponse page_response(std::string html);

}  // namespace weft::serve
