// Writes SVG: shapes and texts with the few attributes that the diagrams need. All text is escaped; numbers are written
// short. Styles are attributes, not classes, so an image can be embedded in a web page unchanged; a style sheet maps
// the light palette to a dark one where the reader prefers that. There is no script in a picture.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft::picture {

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] Point center() const { return {x + width / 2, y + height / 2}; }
  [[nodiscard]] Point top_center() const { return {x + width / 2, y}; }
  [[nodiscard]] Point bottom_center() const { return {x + width / 2, y + height}; }
};

struct Paint {
  std::string_view fill = "none";
  std::string_view stroke = "none";
  double stroke_width = 1;
  double opacity = 1;
  std::string_view dash = {};
  double radius = 0;  // of a rectangle's corners
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  std::string_view fill = "#1a1a1a";
  Anchor anchor = Anchor::start;
  bool bold = false;
  double angle = 0;  // degrees clockwise around the anchor
};

// Coordinates are doubles; callers pass any numeric type.
template <class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] constexpr double real(T number) { return static_cast<double>(number); }

class Svg {
 public:
  // A tooltip, if any, becomes the shape's <title>.
  void rect(const Box& box, const Paint& style, std::string_view tooltip = {});
  void line(const Point& from, const Point& to, const Paint& style, std::string_view tooltip = {});
  // One line through all the points, so that dashes continue around corners.
  void polyline(std::span<const Point> points, const Paint& style, std::string_view tooltip = {});
  // A curve that leaves and arrives vertically, for links between tiers.
  void link(const Point& from, const Point& to, const Paint& style, std::string_view tooltip = {});
  // The baseline is at `at.y`.
  void text(const Point& at, std::string_view text, const TextStyle& style);
  // Centered vertically and horizontally in the box, truncated with an ellipsis to fit; omitted if not even that fits.
  void text_in(const Box& box, std::string_view words, TextStyle style);
  // Text on its own background, centered at the point, drawn on top of links.
  void label(const Point& center, std::string_view words, const TextStyle& style);
  // data-<key>="<value>" for the next shape that is not a text, for the script of a page.
  void set_data(std::string_view key, std::string_view value);
  void open_group(std::string_view tooltip = {});
  void close_group();

  [[nodiscard]] std::size_t marks() const { return marks_; }
  // The document: white background, `title` as its <title>.
  [[nodiscard]] std::string finish(double width, double height, std::string_view title) const;

 private:
  void close_shape(std::string_view name, std::string_view tooltip);
  void paint(const Paint& paint);
  std::string body_;
  std::string data_;  // attributes of the next shape
  std::size_t marks_ = 0;
};

// `text` escaped for an XML text or attribute; characters that XML does not allow become U+FFFD.
[[nodiscard]] std::string xml_escape(std::string_view text);
// A conservative estimate for common sans-serif fonts.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);
// The text, truncated with "…" to fit; empty if fewer than two characters fit.
[[nodiscard]] std::string fit_text(std::string_view text, double size, double width, bool bold = false);

}  // namespace weft::picture
