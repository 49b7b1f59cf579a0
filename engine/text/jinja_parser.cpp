// SPDX-License-Identifier: MIT
#include "text/jinja.h"

#include <algorithm>
#include <initializer_list>

namespace ordo::jinja {
namespace {

constexpr int most_height = 200;  // of the tree of an expression
constexpr int most_nesting = 100; // of tags and brackets
constexpr std::size_t most_nodes = std::size_t{1} << 17;

// The value of a literal with its quotes, as in Python. An unknown escape stands for itself.
std::string unquoted(std::string_view text, int line) {
    constexpr std::string_view escapes = "n\nt\tr\rb\bf\fv\va\a\\\\''\"\"", numbered = "xuUN01234567";
    std::string value;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
        const char c = text[at] == '\\' ? text[++at] : '\0';
        const std::size_t place = escapes.find(c);
        if (c != '\0' && numbered.find(c) != numbered.npos) fail_at(line, "the escape '\\", c, "' is not supported");
        if (c == '\0' || (place != escapes.npos && c != '\n'))
            value += c == '\0' ? text[at] : escapes[place | 1];
        else if (c != '\n') // a line end after a backslash is dropped
            value.append({'\\', c});
    }
    return value;
}

class Parser {
public:
    explicit Parser(std::string_view text) : lexer_(text), next_(lexer_.next()), after_(lexer_.next()) {}

    std::vector<Node> all() { return statements({}); }

private:
    // ---- Lexemes ----
    Lexeme advance() {
        const Lexeme taken = std::exchange(next_, after_);
        if (after_.kind != LexemeKind::end) after_ = lexer_.next();
        return taken;
    }
    static bool is(const Lexeme& lexeme, std::string_view text) {
        return lexeme.text == text && (lexeme.kind == LexemeKind::name || lexeme.kind == LexemeKind::sign);
    }
    bool take(std::string_view text) {
        const bool taken = is(next_, text);
        if (taken) advance();
        return taken;
    }
    [[noreturn]] void expected(std::string_view thing) const {
        fail_at(next_.line, "expected ", thing, ", found ",
                next_.kind == LexemeKind::end ? "the end" : "'" + printable(next_.text, 40) + "'");
    }
    Lexeme need(LexemeKind kind, std::string_view thing) {
        if (next_.kind != kind) expected(thing);
        return advance();
    }
    void need(std::string_view text) {
        if (!take(text)) expected(text);
    }

    template <class... Parts>
    Node node(NodeKind kind, const Lexeme& at, Parts&&... parts) {
        Node made{kind, at.line, std::string(at.text)};
        (add(made, std::forward<Parts>(parts)), ...);
        if (++nodes_ > most_nodes)
            fail_at(at.line, "expected at most ", most_nodes, " expressions and tags, found more");
        return made;
    }
    static void add(Node& to, Node&& part) {
        to.height = std::max(to.height, part.height + 1);
        if (to.height > most_height)
            fail_at(to.line, "expected at most ", most_height, " operators in turn, found more");
        to.parts.push_back(std::move(part));
    }
    Lexeme at() const { return {LexemeKind::sign, {}, next_.line}; }

    // ---- Statements ----
    // Up to a tag with one of these names, whose name is taken and kept in tag_; without, up to the end of the text.
    std::vector<Node> statements(std::initializer_list<std::string_view> ends) {
        const Deeper deeper(depth_, next_.line, most_nesting);
        std::vector<Node> body;
        while (next_.kind != LexemeKind::end) {
            const Lexeme first = advance();
            if (first.kind == LexemeKind::text) {
                body.push_back(node(NodeKind::text, first));
                continue;
            }
            if (first.kind == LexemeKind::print) {
                body.push_back(node(NodeKind::print, first, expressions()));
            } else {
                tag_ = need(LexemeKind::name, "the name of a tag");
                if (std::find(ends.begin(), ends.end(), tag_.text) != ends.end()) return body;
                body.push_back(statement(tag_));
            }
            close();
        }
        if (ends.size() > 0) expected(*(ends.end() - 1));
        return body;
    }
    std::vector<Node> body_to(std::initializer_list<std::string_view> ends) {
        close();
        return statements(ends);
    }
    void close() { need(LexemeKind::close, "the end of the tag"); }

    // A tag and its body, up to the name of the tag that ends it.
    Node statement(const Lexeme& tag) {
        if (tag.text == "if") return branches(tag);
        if (tag.text == "for") return loop(tag);
        if (tag.text == "set") return set(tag);
        if (tag.text == "break") return node(NodeKind::stop, tag);
        if (tag.text == "continue") return node(NodeKind::skip, tag);
        Node made = node(tag.text == "macro" ? NodeKind::macro : NodeKind::scope, tag);
        if (made.kind == NodeKind::scope && tag.text != "generation")
            fail_at(tag.line, "the tag '", printable(tag.text), "' is not supported");
        if (made.kind == NodeKind::macro) {
            made.text = need(LexemeKind::name, "the name of a macro").text;
            need("(");
            arguments(made);
        }
        made.body = body_to({made.kind == NodeKind::macro ? "endmacro" : "endgeneration"});
        return made;
    }

    Node branches(const Lexeme& tag) {
        Node made = node(NodeKind::branches, tag);
        do {
            Node branch = node(NodeKind::branch, tag);
            if (tag_.text != "else") add(branch, expressions());
            branch.body = branch.parts.empty() ? body_to({"endif"}) : body_to({"elif", "else", "endif"});
            made.body.push_back(std::move(branch));
        } while (tag_.text != "endif");
        return made;
    }

    Node loop(const Lexeme& tag) {
        Node made = node(NodeKind::loop, tag, targets());
        need("in");
        add(made, operation(0));
        if (take("if")) add(made, expression());
        made.body = body_to({"else", "endfor"});
        if (tag_.text == "else") made.otherwise = body_to({"endfor"});
        return made;
    }

    Node set(const Lexeme& tag) {
        Node target = targets();
        if (take(".")) target = node(NodeKind::attribute, need(LexemeKind::name, "a name"), std::move(target));
        if (take("=")) return node(NodeKind::set, tag, std::move(target), expressions());
        Node made = node(NodeKind::set_block, tag, std::move(target));
        made.body = body_to({"endset"});
        return made;
    }

    // One name, or a list of names.
    Node targets() {
        const bool bracket = take("(");
        Node first = node(NodeKind::name, need(LexemeKind::name, "a name"));
        if (!bracket && !is(next_, ",")) return first;
        Node list = node(NodeKind::list, at(), std::move(first));
        while (take(",")) add(list, node(NodeKind::name, need(LexemeKind::name, "a name")));
        if (bracket) need(")");
        return list;
    }

    // ---- Expressions ----
    Node expressions() {
        Node first = expression();
        if (!is(next_, ",")) return first;
        Node list = node(NodeKind::list, at(), std::move(first));
        while (take(","))
            if (next_.kind != LexemeKind::close && !is(next_, ")")) add(list, expression());
        return list;
    }

    Node expression() {
        const Deeper deeper(depth_, next_.line, most_nesting);
        Node value = operation(0);
        while (is(next_, "if")) {
            Node choice = node(NodeKind::conditional, advance(), std::move(value));
            add(choice, operation(0));
            if (take("else")) add(choice, expression());
            value = std::move(choice);
        }
        return value;
    }

    // By level, the binary operators from those that bind least.
    static constexpr std::string_view operators[] = {" or ",  " and ", "",           " == != < > <= >= in ",
                                                     " + - ", " ~ ",   " * / // % ", " ** "};
    static constexpr int level_not = 2, level_compare = 3, levels = 8;

    Node operation(int level) {
        if (level == levels) return filters(unary());
        if (level == level_not) {
            if (!is(next_, "not")) return operation(level + 1);
            const Deeper deeper(depth_, next_.line, most_nesting);
            Node made = node(NodeKind::invert, advance());
            add(made, operation(level));
            return made;
        }
        Node left = operation(level + 1);
        for (int count = 0;; ++count) {
            const bool inverts = level == level_compare && is(next_, "not") && is(after_, "in");
            if (inverts) advance();
            const std::string sought = " " + std::string(next_.text.substr(0, 4)) + " ";
            if (!is(next_, next_.text) || operators[level].find(sought) == sought.npos) return left;
            if (level == level_compare && count > 0) fail_at(next_.line, "a chain of comparisons is not supported");
            const NodeKind kind = level == 0 ? NodeKind::either : level == 1 ? NodeKind::both : NodeKind::binary;
            left = node(kind, advance(), std::move(left));
            add(left, operation(level + 1));
            if (inverts) left = node(NodeKind::invert, at(), std::move(left));
        }
    }

    Node unary() {
        if (!is(next_, "-")) return postfix(primary());
        const Deeper deeper(depth_, next_.line, most_nesting);
        Node made = node(NodeKind::negate, advance());
        add(made, unary());
        return made;
    }

    Node primary() {
        const Lexeme first = advance();
        if (first.kind == LexemeKind::string) {
            Node made = node(NodeKind::string, {first.kind, {}, first.line});
            made.text = unquoted(first.text, first.line);
            while (next_.kind == LexemeKind::string) made.text += unquoted(advance().text, first.line);
            return made;
        }
        if (first.kind == LexemeKind::integer) return node(NodeKind::integer, first);
        if (first.kind == LexemeKind::name) {
            for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"})
                if (first.text == constant) return node(NodeKind::constant, first);
            return node(NodeKind::name, first);
        }
        if (is(first, "(")) {
            Node inner = is(next_, ")") ? node(NodeKind::list, first) : expressions();
            need(")");
            return inner;
        }
        const bool dict = is(first, "{");
        if (!dict && !is(first, "[")) fail_at(first.line, "expected a value, found '", printable(first.text, 40), "'");
        Node items = node(dict ? NodeKind::dict : NodeKind::list, first); // of a dictionary: keys and values by turns
        while (!is(next_, dict ? "}" : "]")) {
            add(items, expression());
            if (dict) need(":");
            if (dict) add(items, expression());
            if (!take(",")) break;
        }
        need(dict ? "}" : "]");
        return items;
    }

    Node postfix(Node value) {
        for (;;) {
            if (take(".")) {
                const bool place = next_.kind == LexemeKind::integer; // list.0
                const Lexeme member = place ? advance() : need(LexemeKind::name, "a name");
                value = node(place ? NodeKind::subscript : NodeKind::attribute, member, std::move(value));
                if (place) add(value, node(NodeKind::integer, member));
            } else if (is(next_, "[")) {
                value = subscript(std::move(value), advance());
            } else if (is(next_, "(")) {
                value = node(NodeKind::call, advance(), std::move(value));
                arguments(value);
            } else {
                return value;
            }
        }
    }

    // The rest of list[place] or list[from:to:step].
    Node subscript(Node value, const Lexeme& bracket) {
        Node made = node(NodeKind::subscript, bracket, std::move(value));
        do {
            const bool absent = is(next_, ":") || is(next_, "]");
            add(made, absent ? node(NodeKind::constant, {LexemeKind::name, "none", next_.line}) : expression());
            if (is(next_, ":")) made.kind = NodeKind::slice;
        } while (made.parts.size() < 4 && take(":"));
        need("]");
        return made;
    }

    // The rest of (value, name=value).
    void arguments(Node& to) {
        while (!is(next_, ")")) {
            if (next_.kind == LexemeKind::name && is(after_, "=")) {
                Node keyword = node(NodeKind::keyword, advance());
                need("=");
                add(keyword, expression());
                add(to, std::move(keyword));
            } else {
                add(to, expression());
            }
            if (!take(",")) break;
        }
        need(")");
    }

    // value | name(arguments) is not name(arguments)
    Node filters(Node value) {
        while (is(next_, "|") || is(next_, "is")) {
            const NodeKind kind = advance().text == "|" ? NodeKind::filter : NodeKind::test;
            const bool inverts = kind == NodeKind::test && take("not");
            value = node(kind, need(LexemeKind::name, "a name"), std::move(value));
            constexpr std::string_view of_two = " in eq equalto ne lt le gt ge divisibleby sameas ";
            if (take("("))
                arguments(value);
            else if (kind == NodeKind::test && of_two.find(" " + value.text + " ") != of_two.npos)
                add(value, postfix(primary()));
            if (inverts) value = node(NodeKind::invert, at(), std::move(value));
        }
        return value;
    }

    Lexer lexer_;
    Lexeme next_, after_;
    Lexeme tag_; // the name of the last one
    int depth_ = 0;
    std::size_t nodes_ = 0;
};

} // namespace

std::vector<Node> parse(std::string_view text) {
    return Parser(text).all();
}

} // namespace ordo::jinja
