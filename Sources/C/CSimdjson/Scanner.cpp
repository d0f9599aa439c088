// Creates and destroys scanners, and reads a whole document as a list of values.
#include "Walk.hpp"

#include <new>

namespace csj {
namespace {

csj_kind kind_of(csj_text token) noexcept {
    switch (token.bytes[0]) {
    case '{': return csj_kind_object;
    case '[': return csj_kind_array;
    case '"': return csj_kind_string;
    case 't': return csj_kind_true;
    case 'f': return csj_kind_false;
    case 'n': return csj_kind_null;
    default: return csj_kind_number;
    }
}

/// Lists values in document order, down to a depth; deeper ones are only checked.
class TreeReader {
public:
    TreeReader(csj_scanner &scanner, const Walk &walk, size_t listed_depth) noexcept
        : scanner(scanner), walk(walk), listed_depth(listed_depth) {}

    csj_status read_members(ondemand::object &object, size_t depth) noexcept {
        return this->walk.each_member(object, [&](csj_text key, ondemand::value &value, csj_text token) noexcept {
            return this->read(key, value, token, depth);
        });
    }

    csj_status append(csj_node node, size_t *index) noexcept {
        *index = this->scanner.nodes.count();
        return this->scanner.nodes.append(node);
    }

private:
    csj_status read(csj_text key, ondemand::value &value, csj_text token, size_t depth) noexcept {
        csj_node node{key, token, 0, kind_of(token)};
        size_t index = 0;
        csj_status status = csj_ok;
        switch (node.kind) {
        case csj_kind_object:
        case csj_kind_array:
            status = this->append(node, &index);
            if (status == csj_ok) { status = this->read_contents(value, token, depth); }
            if (status != csj_ok) { return status; }
            this->scanner.nodes.data()[index].json = written(token.bytes, value);
            break;
        case csj_kind_string:
            status = this->walk.take_string(value, token, &node.json);
            if (status == csj_ok) { status = this->append(node, &index); }
            break;
        default:
            status = is_scalar(token) ? this->append(node, &index) : csj_not_json;
            break;
        }
        if (status == csj_ok) { this->scanner.nodes.data()[index].next = this->scanner.nodes.count(); }
        return status;
    }

    csj_status read_contents(ondemand::value &value, csj_text token, size_t depth) noexcept {
        if (depth >= this->listed_depth) { return this->walk.check_contents(value, token, depth); }
        if (depth >= CSJ_MAXIMUM_DEPTH) { return csj_too_deep; }
        if (kind_of(token) == csj_kind_object) {
            ondemand::object object;
            if (value.get_object().get(object)) { return csj_not_json; }
            return this->read_members(object, depth + 1);
        }
        ondemand::array array;
        if (value.get_array().get(array)) { return csj_not_json; }
        return this->walk.each_element(array, [&](ondemand::value &element, csj_text inner) noexcept {
            return this->read({nullptr, 0}, element, inner, depth + 1);
        });
    }

    csj_scanner &scanner;
    const Walk &walk;
    const size_t listed_depth;
};

}  // namespace
}  // namespace csj

csj_scanner *csj_scanner_create(void) { return new (std::nothrow) csj_scanner; }

void csj_scanner_destroy(csj_scanner *scanner) { delete scanner; }

csj_status csj_read_tree(
    csj_scanner *scanner, const uint8_t *bytes, size_t count, size_t readable_count, size_t depth,
    const csj_node **nodes, size_t *node_count
) {
    const csj_status status = csj::walk_object(
        *scanner, bytes, count, readable_count,
        [&](const csj::Walk &walk, csj::ondemand::object &object) noexcept {
            csj::TreeReader reader(*scanner, walk, depth);
            size_t root = 0;
            csj_status result = reader.append({{nullptr, 0}, {bytes, count}, 0, csj_kind_object}, &root);
            if (result == csj_ok) { result = reader.read_members(object, 1); }
            if (result == csj_ok) { result = walk.check_end(); }
            if (result == csj_ok) { scanner->nodes.data()[root].next = scanner->nodes.count(); }
            return result;
        }
    );
    *nodes = status == csj_ok ? scanner->nodes.data() : nullptr;
    *node_count = status == csj_ok ? scanner->nodes.count() : 0;
    return status;
}

bool csj_validate_utf8(const uint8_t *bytes, size_t count) {
    return count == 0 || simdjson::validate_utf8(reinterpret_cast<const char *>(bytes), count);
}

// Twice, so that the version's own macro is expanded first.
#define CSJ_QUOTED(text) #text
#define CSJ_EXPANDED(text) CSJ_QUOTED(text)

const char *csj_version(void) { return CSJ_EXPANDED(SIMDJSON_VERSION); }
