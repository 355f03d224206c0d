# Writes the bytes of the page's script and style as a source file. Called with -DOUTPUT, -DSCRIPT and -DSTYLE.
function(bytes_of file result)
  file(READ ${file} digits HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${digits}")
  set(${result} "${bytes}" PARENT_SCOPE)
endfunction()

bytes_of(${SCRIPT} script)
bytes_of(${STYLE} style)
file(WRITE ${OUTPUT} "#include \"report/html/program.h\"
namespace turnpike::report::html {
namespace {
constexpr char kScriptBytes[] = {${script}};
constexpr char kStyleBytes[] = {${style}};
}  // namespace
std::string_view page_script() { return {kScriptBytes, sizeof(kScriptBytes)}; }
std::string_view page_style() { return {kStyleBytes, sizeof(kStyleBytes)}; }
}  // namespace turnpike::report::html
")
