// SPDX-License-Identifier: MIT
// ordo generate -i: the user and the model write a text in turns.
#include "core/error.h"
#include "core/trimmed.h"
#include "encoding/base/spec.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/opening/weights.h"
#include "tools/terminal/line_reader.h"
#include "tools/terminal/signals.h"
#include "tools/verbs/chat.h"

#include <algorithm>
#include <system_error>

namespace ordo::tools {

namespace interactive_file {

constexpr std::string_view help = "Type a text, and the model continues it. The text that you type next is added to\n"
                                  "the story so far; /new begins another story. An empty line continues the last\n"
                                  "text. A pasted text is one text, whatever its lines. A backslash at the end of a\n"
                                  "line adds the next line. Ctrl-C stops the model.\n"
                                  "  /again           replace the last continuation by another\n"
                                  "  /new             begin another story\n"
                                  "  /encoding SPEC   continue under this encoding, on the weights trained with it,\n"
                                  "                   or forced onto the given model; without SPEC, show it\n"
                                  "  /seed N          set the seed of the next continuation, after which /again\n"
                                  "                   counts up; -1: a new seed each time; without N, show it\n"
                                  "  /model FILE      continue with another model\n"
                                  "  /help            print this list\n"
                                  "  /quit            end, as Ctrl-D does\n";

constexpr std::string_view commands[] = {"/again", "/new", "/encoding", "/seed", "/model", "/help", "/quit"};

constexpr std::string_view chat_help =
    "Type a message, and the model answers. It knows the conversation so far; /new\n"
    "begins another. A pasted text is one message. A backslash at the end of a line\n"
    "adds the next line. Ctrl-C stops an answer.\n"
    "  /again           replace the last answer by another\n"
    "  /new             begin a new conversation\n"
    "  /encoding SPEC   continue under this encoding, forced onto the given model;\n"
    "                   without SPEC, show it\n"
    "  /seed N          set the seed of the next answer, after which /again counts\n"
    "                   up; -1: a new seed each time; without N, show it\n"
    "  /model FILE      continue with another model\n"
    "  /help            print this list\n"
    "  /quit            end, as Ctrl-D does\n";

[[noreturn]] void refuse(std::string_view command) {
    std::string_view near = nearest(command, commands);
    if (command.size() > 1)
        for (const std::string_view known : commands)
            if (known.starts_with(command)) near = known;
    fail(ErrorCode::usage, "unknown command '", printable(command), "'",
         near.empty() ? "; /help lists them" : "; did you mean ", near, near.empty() ? "" : "?");
}

// A file name as terminals paste it: without the quotes that a shell would remove.
std::string_view unquoted(std::string_view file) {
    const bool quoted = file.size() > 2 && (file.front() == '\'' || file.front() == '"') && file.back() == file.front();
    std::error_code error;
    return quoted && !std::filesystem::exists(file, error) ? file.substr(1, file.size() - 2) : file;
}

class Interaction {
public:
    explicit Interaction(const Arguments& arguments)
        : arguments_(arguments), request_(read_request(arguments)), stops_(request_.options.stop) {
        choice_.encoding = arguments.text("encoding");
        choice_.force = arguments.has("force-encoding");
        choice_.tokenizer = arguments.text("tokenizer");
        own_file_ = arguments.has("model") || arguments.has_operand(); // otherwise /encoding may switch to another file
        choice_.file = writing_model_path(arguments);
        open(choice_);
        show_idle_options(arguments_, request_);
        note_chat(arguments_, *model_, request_);
    }

    // Continues the text and the typed words.
    void go_on(std::string_view typed) {
        if (chat_) return ask(typed);
        if (typed.empty() && ended_) return say_ended();
        if (text_.empty()) warn_of_typed_start(arguments_, *model_, typed);
        const bool apart = text_.empty() || typed.empty() || std::isspace(static_cast<unsigned char>(text_.back())) ||
                           std::isspace(static_cast<unsigned char>(typed.front()));
        before_ = text_ + (apart ? "" : " ") + std::string(typed);
        write();
    }

    std::string_view opening() const {
        return chat_ ? "type a message, or /help; /new begins another conversation"
                     : "type a text, or /help; each text is added to the story so far, and /new begins another";
    }

    // False ends the program.
    bool obey(std::string_view line) {
        const std::string_view command = line.substr(0, line.find(' '));
        const std::string_view value = trimmed(line.substr(command.size()));
        if (command == "/quit") return false;
        if (command == "/again")
            again();
        else if (command == "/new")
            begin_anew();
        else if (command == "/seed")
            set_seed(value);
        else if (command == "/encoding")
            set_encoding(value);
        else if (command == "/model")
            set_model(value);
        else if (command == "/help")
            write_out(chat_ ? chat_help : help);
        else
            refuse(command);
        return true;
    }

private:
    void open(const ModelChoice& choice) {
        Model opened = open_model(arguments_, choice);
        GenerateRequest request = request_;
        request.options.stop = stops_;
        request.options.also_end.clear();
        std::optional<Chat> chat = begin_chat(arguments_, opened, request);
        if (chat && chat_) chat->go_on_from(std::move(*chat_));
        fed_.reset(); // it belongs to the previous model
        repeats_ = false;
        model_.emplace(std::move(opened));
        choice_ = choice;
        request_ = std::move(request);
        // The text grows from turn to turn in one session.
        if (arguments_.integer("ctx-size") == 0)
            request_.options.session.capacity = std::min(model_->context(), model_->max_position());
        chat_ = std::move(chat);
        choose_threads(arguments_, *model_);
        take_recommended(arguments_, *model_, request_.options.sampling);
        warn_beyond(arguments_, *model_, arguments_.integer("ctx-size"));
    }

    // If a question cannot be answered, for example because it does not fit the context, the conversation stays
    // unchanged.
    void ask(std::string_view typed) {
        if (typed.empty()) return;
        const Chat before = *chat_;
        chat_->say(std::string(typed));
        answer_or_undo(before);
    }
    void again() {
        if (!chat_) {
            take_next_seed();
            return write();
        }
        const Chat before = *chat_;
        if (!chat_->take_back_answer()) return write_message("there is no answer to take back yet");
        take_next_seed();
        answer_or_undo(before);
    }
    // Chooses another seed if the same model would write the same text again. At a temperature of 0, every seed would.
    void take_next_seed() {
        if (!repeats_) return;
        if (request_.options.sampling.temperature == 0) {
            if (!request_.quiet) write_message("at a temperature of 0 the same text is written again");
            return;
        }
        if (!request_.fixed_seed) return;
        ++request_.options.sampling.seed;
        if (arguments_.has("verbose")) show_seed(request_, true);
    }
    void answer_or_undo(const Chat& before) {
        try {
            write();
        } catch (...) {
            chat_ = before;
            throw;
        }
    }
    void say_ended() {
        if (!request_.quiet) write_message("the text has ended; type more, or /again for another ending, or /new");
    }
    void begin_anew() {
        before_ = text_ = "";
        repeats_ = ended_ = false;
        if (chat_) chat_->begin_anew();
    }

    void set_seed(std::string_view value) {
        if (value.empty()) return write_out(std::to_string(request_.options.sampling.seed) + "\n");
        const std::optional<std::uint64_t> seed = parse_seed_or_random(value, "/seed");
        request_.fixed_seed = seed.has_value();
        if (seed) request_.options.sampling.seed = *seed;
        if (request_.options.sampling.temperature > 0)
            repeats_ = false;
        else if (!request_.quiet)
            write_message("warning: /seed changes nothing at a temperature of 0");
    }

    void set_encoding(std::string_view spec) {
        if (spec.empty()) return write_out(model_->encoding() + "\n");
        ModelChoice choice = choice_;
        choice.encoding = spec;
        choice.force = own_file_ || choice.force;
        if (!own_file_) choice.file = weights_for(choice.encoding, choice.force);
        open(choice);
        name_model();
    }

    void set_model(std::string_view file) {
        if (file.empty()) fail(ErrorCode::usage, "/model: expected a file, found nothing");
        ModelChoice choice = choice_;
        choice.file = unquoted(file);
        if (const std::string meant = likely_model(choice.file.string(), "/encoding"); !meant.empty())
            fail(ErrorCode::io, printable(choice.file.string()), ": there is no such file", meant);
        choice.encoding = "";
        choice.tokenizer.clear(); // it belongs to another model
        open(choice);
        own_file_ = true;
        name_model();
    }
    void name_model() {
        if (!request_.quiet && !arguments_.has("verbose")) show_model(choice_.file, *model_);
    }

    // Continues before_, or answers the last message.
    void write() {
        if (chat_) before_ = chat_->text();
        if (!request_.fixed_seed) request_.options.sampling.seed = random_seed();
        forget_signal();
        std::string arrived;
        std::optional<Continuation::Before> fed = std::exchange(fed_, {});
        const auto keep = [&](std::string_view text) {
            arrived += text;
            return true;
        };
        Continuation continuation = saying_what_makes_room(
            request_, *model_, [&] { return Continuation(*model_, before_, request_.options, keep, std::move(fed)); });
        {
            Progress progress(request_.quiet);
            feed_prompt(continuation, "text", progress, [] { return stop_signal() == 0; });
        }
        if (arguments_.has("verbose")) show_seed(request_);
        TextOutput out;
        for (bool more = true; more && !stop_signal();) {
            more = continuation.step();
            out.write(std::exchange(arrived, {}));
        }
        const Generation result = continuation.finish();
        out.write(arrived);
        ended_ = result.reason == StopReason::end_of_text;
        if (result.text.empty() && ended_ && !chat_)
            say_ended();
        else
            out.close();
        text_ = before_ + result.text;
        repeats_ = true;
        if (chat_) chat_->answered(result.text);
        if (!request_.quiet && result.reason == StopReason::full)
            write_message("the context of " + std::to_string(continuation.capacity()) + " tokens is full" +
                          full_text(request_) + "; /new begins a new text");
        if (!request_.quiet && result.shifts > 0) write_message(shifts_text(result.shifts, continuation));
        fed_ = continuation.release(); // the continuation is not used after this
    }

    const Arguments& arguments_;
    GenerateRequest request_;
    const std::vector<std::string> stops_; // from the options, besides those of a chat template
    std::optional<Chat> chat_;
    ModelChoice choice_;
    bool ended_ = false;    // whether the last continuation ended with its model's end of text
    bool repeats_ = false;  // whether this model wrote the last text with this seed
    bool own_file_ = false; // whether the user named a model, in any way
    std::optional<Model> model_;
    std::optional<Continuation::Before> fed_;
    std::string text_;   // the whole text, typed and written
    std::string before_; // text_ without the last continuation
};

// An error ends the request, not the conversation.
bool answer(Interaction& interaction, const std::string& line) {
    try {
        if (line.starts_with('/') && line.find('\n') == line.npos) return interaction.obey(line);
        interaction.go_on(line);
    } catch (const Error& error) {
        if (error.reason == ErrorReason::standard_stream) throw;
        write_message(error.what());
    }
    return true;
}

} // namespace interactive_file

int generate_interactively(const Arguments& arguments) {
    if (arguments.has("encodings")) fail(ErrorCode::usage, "expected --interactive or --encodings, found both");
    if (arguments.text("file") == "-")
        fail(ErrorCode::usage, "option --file: expected a file beside --interactive, which reads standard input");
    std::string begin = arguments.text("prompt");
    if (arguments.has("file")) begin = read_prompt(arguments, LineEnds::plain);
    interactive_file::Interaction interaction(arguments);
    note_interrupts();
    LineReader reader;
    if (stdout_is_terminal() && !arguments.has("quiet")) write_message(interaction.opening());
    if (!begin.empty()) {
        if (!arguments.has("no-display-prompt")) write_out(begin + "\n");
        interactive_file::answer(interaction, begin);
    }
    while (std::optional<std::string> line = reader.read("> ")) {
        while (line->ends_with('\\')) {
            const std::optional<std::string> next = reader.read("| ");
            line->back() = '\n';
            line->append(next.value_or(std::string()));
            if (!next) break;
        }
        if (!interactive_file::answer(interaction, *line)) return 0;
    }
    if (stdout_is_terminal()) write_out("\n"); // after the prompt of the line that Ctrl-D ended
    return 0;
}

} // namespace ordo::tools
