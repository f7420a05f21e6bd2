// Pages of the server for browsers: the documentation of the API, generated from the same tables as the OpenAPI
// document; the home page; and the page that ends a login. Each works with the policy kPagePolicy: no script or style
// inside a page, nothing from elsewhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "access/identity/identity.h"
#include "serve/api/answer_shapes.h"
#include "serve/table/route.h"

namespace weft::serve {

// Headers of every page: Content-Security-Policy, and of the others X-Content-Type-Options: nosniff,
// Referrer-Policy: no-referrer and Cache-Control: no-store (home and login pages).
inline constexpr std::string_view kPagePolicy =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

// Files that the pages use, served to anyone; nullopt: there is no such file. `path`: "/assets/pages.css".
struct PageAsset {
  std::string_view media_type;
  std::string_view content;
};
[[nodiscard]] std::optional<PageAsset> find_page_asset(std::string_view path);

// GET /docs
[[nodiscard]] std::string docs_page(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes,
                                    std::string_view version);

// GET /
struct HomePageFacts {
  std::string cluster;
  std::string version;
  std::optional<access::Identity> caller;  // nullopt: no user is signed in
  std::string roles;                       // of the caller: "operator, user of research"
  bool has_login = false;                  // an OIDC provider is configured
};
[[nodiscard]] std::string home_page(const HomePageFacts& facts);

// GET /login/callback, after the session began: goes on to `path`, a path of this server. Without a redirect: a chain
// of redirects that began at another site would not carry a SameSite=Strict cookie.
[[nodiscard]] std::string login_done_page(std::string_view path);
// GET /login/callback, if the login failed.
[[nodiscard]] std::string login_failed_page(std::string_view why);
// Whether a browser may be sent there after a login: an absolute path of this server, not "//host" or another spelling.
[[nodiscard]] bool is_local_path(std::string_view path);

// Text in HTML, in content and in quoted attributes.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace weft::serve
