#include "serve/api/docs_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/asset.h"
#include "base/text.h"
#include "serve/api/openapi.h"
#include "serve/api/parameters.h"

namespace weft::serve {
namespace {

// The command for a request; "": there is none.
std::string_view command_of(std::string_view id) {
  static constexpr std::pair<std::string_view, std::string_view> kCommands[] = {
      {"server.show", "weft status"},
      {"job.list", "weft job list"},
      {"job.submit", "weft job submit FILE"},
      {"job.show", "weft job show JOB"},
      {"job.why", "weft job why JOB"},
      {"job.logs", "weft job logs JOB"},
      {"job.cancel", "weft job cancel JOB --reason TEXT"},
      {"job.hold", "weft job hold JOB"},
      {"job.release", "weft job release JOB"},
      {"job.drill", "weft job drill JOB"},
      {"node.list", "weft node list"},
      {"node.show", "weft node show NODE"},
      {"node.drain", "weft node drain NODE --reason TEXT"},
      {"node.resume", "weft node resume NODE"},
      {"node.confirm-off", "weft node confirm-off NODE --reason TEXT"},
      {"reservation.list", "weft node reservations"},
      {"reservation.create", "weft node reserve NAME NODES --for TIME"},
      {"reservation.remove", "weft node unreserve NAME"},
      {"lease.list", "weft lease list"},
      {"lease.show", "weft lease show NODE"},
      {"lease.move", "weft lease move NODES --to ENGINE"},
      {"queue.show", "weft queue"},
      {"event.follow", "weft watch"},
      {"session.show", "weft whoami"},
      {"session.logout", "weft logout"},
      {"token.list", "weft token list"},
      {"token.create", "weft token create NAME"},
      {"token.revoke", "weft token revoke TOKEN"},
      {"approval.list", "weft approval list"},
      {"approval.approve", "weft approval approve APPROVAL"},
      {"approval.reject", "weft approval reject APPROVAL"},
      {"audit.list", "weft audit list"},
      {"login.device", "weft login"}};
  for (const auto& [known, command] : kCommands) {
    if (known == id) return command;
  }
  return {};
}

std::string type_text(const Field& field) {
  if (!field.choices.empty()) return join(field.choices, " | ");
  switch (field.type) {
    case FieldType::text:
      return "text";
    case FieldType::content:
      return "file";
    case FieldType::integer:
      return "integer";
    case FieldType::boolean:
      return "boolean";
    case FieldType::duration:
      return "duration";
    case FieldType::hosts:
      break;
  }
  return "hosts";
}

std::string type_text(MemberTypes types) {
  static constexpr std::pair<MemberType, std::string_view> kNames[] = {{MemberType::text, "text"},
                                                                       {MemberType::integer, "integer"},
                                                                       {MemberType::number, "number"},
                                                                       {MemberType::boolean, "boolean"},
                                                                       {MemberType::absent, "null"}};
  std::vector<std::string_view> names;
  for (const auto& [type, name] : kNames) {
    if (types.has(type)) names.push_back(name);
  }
  return join(names, " | ");
}

// A sentence or a part of one: `words` in backticks as code.
std::string prose(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (const std::string_view part : split(text, '`')) {
    out += is_code ? "<code>" + escape_html(part) + "</code>" : escape_html(part);
    is_code = !is_code;
  }
  return out;
}

std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out.front() = to_upper(out.front());
  return prose(out) + ".";
}

std::string page(std::string_view title, std::string_view head, std::string_view body) {
  const auto lines = [](std::string_view text) {
    return text.empty() ? std::string() : std::string(trim(text)) + "\n";
  };
  return fill_template(asset<"serve/page.html">(),
                       {{"TITLE", escape_html(title)}, {"HEAD", lines(head)}, {"BODY", lines(body)}});
}

class DocsWriter {
 public:
  DocsWriter(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes) : rows_(rows), shapes_(shapes) {}

  std::string navigation() {
    each_tag([&](std::string_view tag) {
      out_ += fmt::format("<li><a href=\"#{}\">{}</a><ul>\n", tag, escape_html(tag_about(tag)));
      const auto add = [&](std::string_view id) {
        if (tag_of(id) == tag) out_ += fmt::format("<li><a href=\"#{0}\">{0}</a></li>\n", escape_html(id));
      };
      for (const RouteRow& row : rows_) add(row.id);
      for (const PlainRoute& route : plain_routes()) add(route.id);
      out_ += "</ul></li>\n";
    });
    return std::exchange(out_, {});
  }

  std::string sections() {
    each_tag([&](std::string_view tag) {
      out_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", tag, escape_html(tag_about(tag)));
      for (const RouteRow& row : rows_) {
        if (tag_of(row.id) == tag) write_row(row);
      }
      for (const PlainRoute& route : plain_routes()) {
        if (tag_of(route.id) == tag) write_plain(route);
      }
      out_ += "</section>\n";
    });
    return std::exchange(out_, {});
  }

 private:
  template <class Function>
  void each_tag(const Function& function) {
    std::vector<std::string_view> known;
    const auto see = [&](std::string_view id) {
      const std::string_view tag = tag_of(id);
      if (std::find(known.begin(), known.end(), tag) != known.end()) return;
      known.push_back(tag);
      function(tag);
    };
    for (const RouteRow& row : rows_) see(row.id);
    for (const PlainRoute& route : plain_routes()) see(route.id);
  }

  void open_article(std::string_view id, std::string_view method, const std::string& path, std::string_view about,
                    Need need) {
    out_ += fmt::format(
        "<article id=\"{0}\">\n<h3><span class=\"method {1}\">{2}</span> <code class=\"path\">{3}</code> "
        "<a class=\"anchor\" href=\"#{0}\">{0}</a></h3>\n<p>{4}</p>\n<ul class=\"facts\">\n<li>Allowed to: {5}</li>\n",
        escape_html(id), to_lower(method), escape_html(method), escape_html(path), sentence(about),
        escape_html(need_about(need)));
  }

  void write_row(const RouteRow& row) {
    const std::string path = fmt::format("{}{}", kApiPrefix, row.pattern);
    open_article(row.id, row.method, path, row.about, row.need);
    if (row.reason == Reason::required) out_ += "<li>Needs a reason</li>\n";
    if (row.changes) out_ += "<li>Changes something: it is audited, and answered when it is durable</li>\n";
    if (row.needs_drive) out_ += "<li>Not in watch mode</li>\n";
    out_ += "</ul>\n";
    write_parameters(row);
    if (row.method != "GET" && (!row.body.empty() || row.reason != Reason::none)) {
      std::vector<Field> body = row.body;
      if (row.reason != Reason::none) {
        body.push_back(reason_field());
        body.back().required = row.reason == Reason::required;
      }
      write_body(body);
    }
    write_statuses(row);
    write_answer(row);
    write_examples(row, path);
    out_ += "</article>\n";
  }

  void write_plain(const PlainRoute& route) {
    open_article(route.id, route.method, std::string(route.path), route.about, Need::anyone);
    out_ += "</ul>\n";
    if (!route.query.empty()) {
      open_table("Parameters");
      for (const Field& field : route.query) write_field("query", field);
      close_table();
    }
    if (!route.body.empty()) write_body(route.body);
    if (!route.answer.empty()) {
      out_ += "<h4>Answer</h4>\n";
      write_members(route.answer);
    }
    if (const std::string_view command = command_of(route.id); !command.empty())
      out_ += fmt::format("<h4>Command</h4>\n<pre><code>{}</code></pre>\n", escape_html(command));
    out_ += "</article>\n";
  }

  void open_table(std::string_view title) {
    out_ += fmt::format(
        "<h4>{}</h4>\n<div class=\"wide\"><table>\n<thead><tr><th>Name</th><th>Where</th><th>Type</th><th>Meaning</th>"
        "</tr></thead>\n<tbody>\n",
        title);
  }
  void close_table() { out_ += "</tbody></table></div>\n"; }

  void write_line(std::string_view name, std::string_view where, std::string_view type, bool required,
                  std::string_view about) {
    out_ += fmt::format("<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(name),
                        required ? " <span class=\"required\">required</span>" : "", where, escape_html(type),
                        prose(about));
  }
  void write_field(std::string_view where, const Field& field) {
    write_line(field.name, where, type_text(field), field.required, field.about);
  }

  void write_parameters(const RouteRow& row) {
    const AnswerShape* shape = find_shape(shapes_, row.answer);
    const bool has_formats = shape == nullptr || shape->form == AnswerShape::Form::document;
    const std::vector<std::string> names = path_parameters(row.pattern);
    open_table("Parameters");
    const std::size_t start = out_.size();
    for (const std::string& name : names) write_line(name, "path", "text", true, path_parameter_about(name));
    for (const Field& field : row.query) write_field("query", field);
    if (row.lists) {
      for (const Field& field : list_fields()) write_field("query", field);
    }
    if (has_formats) {
      for (const Field& field : format_fields()) write_field("query", field);
    }
    if (row.creates)
      write_line("Idempotency-Key", "header", "text", false,
                 "repeating the request with the same key creates nothing twice");
    if (row.conditional) write_line("If-Match", "header", "text", false, "only if the object's ETag is still this one");
    if (row.answer == "events") write_line("Last-Event-ID", "header", "integer", false, "resume after this event");
    const bool is_empty = out_.size() == start;
    close_table();
    if (is_empty) out_ += "<p>None.</p>\n";
    const std::vector<const MemberShape*> columns = filter_columns(row, shapes_);
    if (columns.empty()) return;
    out_ += "<p class=\"filters\">Filters, each a column of the list:";
    for (const MemberShape* column : columns) out_ += fmt::format(" <code>{}</code>", escape_html(column->key));
    out_ += "</p>\n";
  }

  void write_body(const std::vector<Field>& fields) {
    open_table("Body");
    for (const Field& field : fields) write_field("body", field);
    close_table();
  }

  void write_statuses(const RouteRow& row) {
    out_ += "<h4>Answers</h4>\n<dl class=\"statuses\">\n";
    for (const int status : answer_statuses(row)) {
      out_ += fmt::format("<dt class=\"{}\">{}</dt><dd>{}</dd>\n", status < 400 ? "good" : "bad", status,
                          prose(status_about(status)));
    }
    out_ += "</dl>\n";
  }

  void write_members(const std::vector<MemberShape>& members) {
    out_ +=
        "<div class=\"wide\"><table>\n<thead><tr><th>Member</th><th>Type</th><th>Meaning</th></tr></thead>\n<tbody>\n";
    for (const MemberShape& member : members) {
      out_ += fmt::format("<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(member.key),
                          member.is_optional ? " <span class=\"optional\">optional</span>" : "",
                          escape_html(type_text(member.types)), prose(member.about));
    }
    out_ += "</tbody></table></div>\n";
  }

  void write_answer(const RouteRow& row) {
    const AnswerShape* shape = find_shape(shapes_, row.answer);
    if (shape == nullptr) return;
    out_ += fmt::format("<details><summary>Members of the answer: {}</summary>\n", escape_html(shape->about));
    for (const SectionShape& section : shape->sections) {
      out_ += fmt::format("<h5><code>{}</code> {}{}</h5>\n", escape_html(section.key), prose(section.about),
                          section.is_table ? ", a list" : "");
      write_members(section.members);
    }
    if (shape->form == AnswerShape::Form::document) {
      out_ +=
          fmt::format("<h5>Example</h5>\n<pre><code>{}</code></pre>\n", escape_html(write_json(shape_example(*shape))));
    }
    out_ += "</details>\n";
  }

  void write_examples(const RouteRow& row, const std::string& path) {
    std::string curl = "curl ";
    std::string shown = path;
    for (const std::string& name : path_parameters(row.pattern)) {
      const std::string example = name == "job" ? "8" : name == "node" ? "train001" : to_upper(name);
      shown = replace_all(shown, fmt::format("{{{}}}", name), example);
    }
    if (row.answer == "events") curl += "--no-buffer ";
    if (row.method != "GET") {
      curl += "-X " + std::string(row.method) + " ";
      if (const Value example = body_example(row); !example.is_null()) {
        curl += "-H 'Content-Type: application/json' \\\n  -d " +
                replace_all("'" + replace_all(write_json_line(example), "'", "'\\''") + "'", "\n", " ") + " \\\n  ";
      }
    }
    curl += "-H \"Authorization: Bearer $WEFT_TOKEN\" \\\n  \"$WEFT_SERVER" + shown + "\"";
    out_ += fmt::format("<h4>Examples</h4>\n<pre><code>{}</code></pre>\n", escape_html(curl));
    if (const std::string_view command = command_of(row.id); !command.empty())
      out_ += fmt::format("<pre><code>{}</code></pre>\n", escape_html(command));
  }

  std::span<const RouteRow> rows_;
  std::span<const AnswerShape> shapes_;
  std::string out_;
};

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::optional<PageAsset> find_page_asset(std::string_view path) {
  if (path == "/assets/pages.css") return PageAsset{"text/css; charset=utf-8", asset<"serve/pages.css">()};
  if (path == "/assets/home.js") return PageAsset{"text/javascript; charset=utf-8", asset<"serve/home.js">()};
  return std::nullopt;
}

std::string docs_page(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes, std::string_view version) {
  DocsWriter writer(rows, shapes);
  const std::string navigation = writer.navigation();
  const std::string body =
      fill_template(asset<"serve/docs.html">(),
                    {{"VERSION", escape_html(version)}, {"NAVIGATION", navigation}, {"SECTIONS", writer.sections()}});
  return page("weft API", "", body);
}

std::string home_page(const HomePageFacts& facts) {
  std::string who;
  if (facts.caller) {
    who = fmt::format("<p>Signed in as <strong id=\"user\">{}</strong>{}.</p>\n", escape_html(facts.caller->user),
                      facts.roles.empty() ? ", without a role" : ": " + escape_html(facts.roles));
    // Other ways to sign in have no session that could be ended.
    if (facts.caller->method == access::Method::browser) {
      who +=
          "<p><button id=\"logout\" type=\"button\" hidden>Sign out</button> <span id=\"problem\" role=\"alert\">"
          "</span></p>\n";
    }
  } else if (facts.has_login) {
    who = "<p>Not signed in.</p>\n<p><a class=\"button\" href=\"/login?return=/\">Sign in</a></p>\n";
  } else {
    who = "<p>Not signed in, and this server has no page to sign in: use a token or a client certificate.</p>\n";
  }
  const std::string body =
      fill_template(asset<"serve/home.html">(),
                    {{"CLUSTER", escape_html(facts.cluster)}, {"VERSION", escape_html(facts.version)}, {"WHO", who}});
  return page(facts.cluster + " - weft", "<script src=\"/assets/home.js\" defer></script>", body);
}

bool is_local_path(std::string_view path) {
  if (!path.starts_with('/') || path.size() > 2000) return false;
  // Browsers read a backslash as a slash, and drop tabs and line ends.
  if (path.starts_with("//")) return false;
  return std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7F' && c != '\\'; });
}

std::string login_done_page(std::string_view path) {
  const std::string target = escape_html(is_local_path(path) ? path : "/");
  return page(
      "Signed in - weft", fmt::format("<meta http-equiv=\"refresh\" content=\"0; url={}\">", target),
      fmt::format("<main class=\"small\">\n<h1>Signed in</h1>\n<p><a href=\"{}\">Continue</a></p>\n</main>", target));
}

std::string login_failed_page(std::string_view why) {
  return page("Not signed in - weft", "",
              fmt::format("<main class=\"small\">\n<h1>Not signed in</h1>\n<p>{}</p>\n<p><a href=\"/login?return=/\">"
                          "Retry</a> or <a href=\"/\">go to the home page</a></p>\n</main>",
                          escape_html(why)));
}

}  // namespace weft::serve
