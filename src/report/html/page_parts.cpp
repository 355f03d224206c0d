#include "report/html/page_parts.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "report/html/escape.h"
#include "report/html/format.h"
#include "report/html/program.h"

namespace turnpike::report::html {
namespace {

// Pages that are replaced are known by this.
constexpr std::string_view kGenerator = "<meta name=\"generator\" content=\"turnpike ";

std::string hash_of(std::string_view bytes) {
  const auto digest = sha256(bytes);
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

// Only these very bytes run and style the page, and nothing is ever fetched.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; worker-src blob:; base-uri 'none'; "
      "form-action 'none'; require-trusted-types-for 'script'; trusted-types turnpike",
      hash_of(page_script()), hash_of(page_style()));
}

void write_script(const std::string& type, const std::string& id, std::string_view text, const Output& output) {
  output(fmt::format("<script type=\"{}\" id=\"{}\">", type, id));
  output(text);
  output("</script>\n");
}

}  // namespace

bool is_start_of_page(std::string_view bytes) {
  return bytes.starts_with("<!doctype html>") && bytes.find(kGenerator) != std::string_view::npos;
}

void write_head(const std::string& title, const Output& output) {
  output(fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}" TURNPIKE_VERSION
                     "\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>",
                     kGenerator, escaped(policy()), escaped(title)));
  output(page_style());
  output("</style>\n</head>\n<body>\n");
}

void write_data(const std::string& report, const Contents& contents, const EncodedLanes& lanes, const Output& output) {
  write_script("application/json", kReportId, json_for_script(report), output);
  output(fmt::format("<script type=\"application/json\" id=\"{}\">", kContentsId));
  html::write(contents, output);
  output("</script>\n");
  for (std::size_t id = 0; id < lanes.block_count(); ++id) {
    write_script("application/octet-stream", kBlockId + std::to_string(id), lanes.block(id), output);
  }
  output("<script>");
  output(page_script());
  output("</script>\n</body>\n</html>\n");
}

}  // namespace turnpike::report::html
