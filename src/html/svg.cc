#include "html/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "base/asset.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::picture {
namespace {

// Hundredths of a pixel are finer than any screen resolution.
double short_number(double value) {
  const double rounded = std::round(value * 100.0) / 100.0;
  return rounded == 0.0 ? 0.0 : rounded;  // no "-0"
}

void append_attribute(std::string& out, std::string_view name, double value) {
  append_format(out, " {}=\"{}\"", name, short_number(value));
}

// Widths in em of DejaVu Sans, the widest of the usual "sans-serif" fonts.
double glyph_width(std::uint32_t code) {
  if (code >= 0x80) return code_point_width(code) == 2 ? 1.1 : code == 0x2026 ? 1.0 : 0.84;
  const char c = static_cast<char>(code);
  if (std::string_view("ijl|!.,:;'I ").find(c) != std::string_view::npos) return 0.33;
  if (std::string_view("ft()[]/-r").find(c) != std::string_view::npos) return 0.41;
  if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.98;
  if (c >= 'A' && c <= 'Z') return 0.72;
  return 0.64;
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    const bool blank = point.value == '\t' || point.value == '\n';
    if (point.value == '&') {
      out += "&amp;";
    } else if (point.value == '<') {
      out += "&lt;";
    } else if (point.value == '>') {
      out += "&gt;";
    } else if (point.value == '"') {
      out += "&quot;";
    } else if (point.value == '\'') {
      out += "&#39;";
    } else if (!point.valid || (!blank && !is_printable(point.value))) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text, i, point.size);
    }
    i += point.size;
  }
  return out;
}

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    width += glyph_width(point.value);
    i += point.size;
  }
  return width * size * (bold ? 1.1 : 1.0);
}

std::string fit_text(std::string_view text, double size, double width, bool bold) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  std::string kept;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    const std::string longer = kept + std::string(text.substr(i, point.size));
    if (text_width(longer + "…", size, bold) > width) break;
    kept = longer;
    ++characters;
    i += point.size;
  }
  return characters < 2 ? std::string() : kept + "…";
}

void Svg::set_data(std::string_view key, std::string_view value) {
  append_format(data_, " data-{}=\"{}\"", key, xml_escape(value));
}

void Svg::paint(const Paint& paint) {
  body_ += data_;
  data_.clear();
  append_format(body_, " fill=\"{}\"", paint.fill);
  if (paint.stroke != "none") {
    append_format(body_, " stroke=\"{}\"", paint.stroke);
    if (paint.stroke_width != 1.0) append_attribute(body_, "stroke-width", paint.stroke_width);
    if (!paint.dash.empty()) append_format(body_, " stroke-dasharray=\"{}\"", paint.dash);
  }
  if (paint.opacity < 1.0) append_attribute(body_, "opacity", paint.opacity);
}

void Svg::close_shape(std::string_view name, std::string_view tooltip) {
  ++marks_;
  if (tooltip.empty()) {
    body_ += "/>\n";
  } else {
    append_format(body_, "><title>{}</title></{}>\n", xml_escape(tooltip), name);
  }
}

void Svg::rect(const Box& box, const Paint& style, std::string_view tooltip) {
  body_ += "<rect";
  append_attribute(body_, "x", box.x);
  append_attribute(body_, "y", box.y);
  append_attribute(body_, "width", box.width);
  append_attribute(body_, "height", box.height);
  if (style.radius > 0) append_attribute(body_, "rx", style.radius);
  paint(style);
  close_shape("rect", tooltip);
}

void Svg::line(const Point& from, const Point& to, const Paint& style, std::string_view tooltip) {
  body_ += "<line";
  append_attribute(body_, "x1", from.x);
  append_attribute(body_, "y1", from.y);
  append_attribute(body_, "x2", to.x);
  append_attribute(body_, "y2", to.y);
  paint(style);
  close_shape("line", tooltip);
}

void Svg::polyline(std::span<const Point> points, const Paint& style, std::string_view tooltip) {
  if (points.size() < 2) return;
  body_ += "<polyline points=\"";
  for (const Point& point : points) append_format(body_, "{},{} ", short_number(point.x), short_number(point.y));
  body_.back() = '"';
  paint(style);
  close_shape("polyline", tooltip);
}

void Svg::link(const Point& from, const Point& to, const Paint& style, std::string_view tooltip) {
  const double middle = (from.y + to.y) / 2;
  append_format(body_, "<path d=\"M{} {}C{} {} {} {} {} {}\"", short_number(from.x), short_number(from.y),
                short_number(from.x), short_number(middle), short_number(to.x), short_number(middle),
                short_number(to.x), short_number(to.y));
  paint(style);
  close_shape("path", tooltip);
}

void Svg::text(const Point& at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  ++marks_;
  body_ += "<text";
  append_attribute(body_, "x", at.x);
  append_attribute(body_, "y", at.y);
  append_attribute(body_, "font-size", style.size);
  append_format(body_, " fill=\"{}\"", style.fill);
  if (style.anchor != Anchor::start) {
    append_format(body_, " text-anchor=\"{}\"", style.anchor == Anchor::middle ? "middle" : "end");
  }
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.angle != 0.0) {
    append_format(body_, " transform=\"rotate({} {} {})\"", short_number(style.angle), short_number(at.x),
                  short_number(at.y));
  }
  append_format(body_, ">{}</text>\n", xml_escape(text));
}

void Svg::text_in(const Box& box, std::string_view words, TextStyle style) {
  const double room = (style.angle == 0.0 ? box.width : box.height) - 4;
  style.anchor = Anchor::middle;
  Point at = box.center();
  // Half the height of a capital letter moves the baseline so that the text is centered.
  (style.angle == 0.0 ? at.y : at.x) += 0.36 * style.size;
  text(at, fit_text(words, style.size, room, style.bold), style);
}

void Svg::label(const Point& center, std::string_view words, const TextStyle& style) {
  const double width = text_width(words, style.size, style.bold) + 8;
  const double height = style.size + 6;
  const Box box{center.x - width / 2, center.y - height / 2, width, height};
  rect(box, Paint{"#ffffff", "#d5d8dc", 0.7, 0.94, {}, 3});
  TextStyle centerd = style;
  centerd.anchor = Anchor::middle;
  text({center.x, center.y + 0.36 * style.size}, words, centerd);
}

void Svg::open_group(std::string_view tooltip) {
  body_ += "<g>";
  if (!tooltip.empty()) append_format(body_, "<title>{}</title>", xml_escape(tooltip));
  body_ += '\n';
}

void Svg::close_group() { body_ += "</g>\n"; }

std::string Svg::finish(double width, double height, std::string_view title) const {
  const double w = std::ceil(width);
  const double h = std::ceil(height);
  std::string out;
  out.reserve(body_.size() + 4096);
  append_format(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weft-picture\" viewBox=\"0 0 {0} {1}\" "
                "width=\"{0}\" height=\"{1}\" "
                "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" role=\"img\">\n<title>{2}</title>\n"
                "<style>\n{3}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
                w, h, xml_escape(title), asset<"base/picture.css">());
  out += body_;
  out += "</svg>\n";
  return out;
}

}  // namespace weft::picture
