/* Answers one query as query.py does, to the last bit of every score; query.py explains the method.
   Exit code 3 for anything unusual: run.sh then asks query.py, which also explains mistakes. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The constants of query.py are macros that prepare.py hands to the compiler, SECTION_NAMES the order of its sections. */
enum { SECTION_NAMES, SECTIONS };

static const unsigned char *file;
static const int32_t *ints[SECTIONS];
static const unsigned char *bytes[SECTIONS];
static uint64_t sizes[SECTIONS];
static int records;

static void unusual(void) { exit(3); }

static void *room(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) unusual();
    return memory;
}

typedef struct { int *item; int count, space; } List;

static void push(List *list, int item) {
    if (list->count == list->space) {
        list->space = list->space ? 2 * list->space : 64;
        list->item = realloc(list->item, (size_t)list->space * sizeof(int));
        if (!list->item) unusual();
    }
    list->item[list->count++] = item;
}

static unsigned char *whole(const char *path, size_t *size) {
    int handle = open(path, O_RDONLY);
    struct stat about;
    if (handle < 0 || fstat(handle, &about) || !S_ISREG(about.st_mode) || about.st_size > MAX_QUERY_BYTES) unusual();
    unsigned char *content = room((size_t)about.st_size + 1, 1);
    size_t done = 0;
    while (done < (size_t)about.st_size) {
        ssize_t got = read(handle, content + done, (size_t)about.st_size - done);
        if (got <= 0) unusual();
        done += (size_t)got;
    }
    close(handle);
    *size = done;
    return content;
}

static void open_index(const char *path) {
    int handle = open(path, O_RDONLY);
    struct stat about;
    if (handle < 0 || fstat(handle, &about) || about.st_size < 8 + 16 * SECTIONS) unusual();
    file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, handle, 0);
    if (file == MAP_FAILED || memcmp(file, MAGIC, 8)) unusual();
    uint64_t end = (uint64_t)about.st_size;
    for (int n = 0; n < SECTIONS; n++) {
        uint64_t entry[2];
        memcpy(entry, file + 8 + 16 * n, 16);
        if (entry[0] > end || entry[1] > end - entry[0] || entry[0] % 8) unusual();
        bytes[n] = file + entry[0];
        ints[n] = (const int32_t *)(const void *)(file + entry[0]);
        sizes[n] = entry[1];
    }
    records = (int)(sizes[RECORD_OFFSET] / 4) - 1;
}

/* The query's JSON: only what an ordinary writer makes of a query; all else is left to query.py. */
static unsigned char *cursor, *limit;

static void blanks(void) {
    while (cursor < limit && (*cursor == ' ' || *cursor == '\n' || *cursor == '\r' || *cursor == '\t')) cursor++;
}

static void expect(char wanted) {
    blanks();
    if (cursor >= limit || *cursor != (unsigned char)wanted) unusual();
    cursor++;
    blanks();
}

typedef struct { unsigned char *text; int size, given; } Text;

static Text string(void) {
    blanks();
    if (cursor >= limit || *cursor++ != '"') unusual();
    Text result = {room((size_t)(limit - cursor) + 1, 1), 0, 1};
    for (;; cursor++) {
        if (cursor >= limit || *cursor < 32) unusual();
        if (*cursor == '"') break;
        if (*cursor != '\\') {
            result.text[result.size++] = *cursor;
            continue;
        }
        if (++cursor >= limit) unusual();
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *found = *cursor ? strchr(from, *cursor) : NULL;
        if (found) {
            result.text[result.size++] = (unsigned char)to[found - from];
            continue;
        }
        if (*cursor != 'u' || limit - cursor < 5) unusual();
        unsigned code = 0;
        for (int n = 1; n <= 4; n++) {
            unsigned c = cursor[n];
            if (c >= '0' && c <= '9') code = code * 16 + c - '0';
            else if ((c | 32) >= 'a' && (c | 32) <= 'f') code = code * 16 + (c | 32) - 'a' + 10;
            else unusual();
        }
        if (code >= 0xD800 && code < 0xE000) unusual();
        if (code < 0x80) result.text[result.size++] = (unsigned char)code;
        else if (code < 0x800) {
            result.text[result.size++] = (unsigned char)(0xC0 | code >> 6);
            result.text[result.size++] = (unsigned char)(0x80 | (code & 63));
        } else {
            result.text[result.size++] = (unsigned char)(0xE0 | code >> 12);
            result.text[result.size++] = (unsigned char)(0x80 | (code >> 6 & 63));
            result.text[result.size++] = (unsigned char)(0x80 | (code & 63));
        }
        cursor += 4;
    }
    cursor++;
    return result;
}

static List integers(void) {
    List result = {room(64, sizeof(int)), 0, 64};
    expect('[');
    if (cursor < limit && *cursor == ']') {
        cursor++;
        return result;
    }
    for (;;) {
        int64_t value = 0;
        unsigned char *begin = cursor;
        while (cursor < limit && *cursor >= '0' && *cursor <= '9') {
            value = value * 10 + (*cursor++ - '0');
            if (value > 0x7FFFFFFF) unusual();
        }
        if (cursor == begin || (*begin == '0' && cursor - begin > 1)) unusual();
        push(&result, (int)value);
        blanks();
        if (cursor < limit && *cursor == ']') break;
        expect(',');
    }
    cursor++;
    return result;
}

static void check_utf8(const unsigned char *text, size_t size) {
    for (size_t n = 0; n < size;) {
        unsigned c = text[n];
        size_t more = c < 0x80 ? 0 : c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 9;
        if (more == 9 || n + more >= size + (more == 0)) unusual();
        for (size_t k = 1; k <= more; k++)
            if ((text[n + k] & 0xC0) != 0x80) unusual();
        if ((c == 0xE0 && text[n + 1] < 0xA0) || (c == 0xED && text[n + 1] > 0x9F) || (c == 0xF0 && text[n + 1] < 0x90) ||
            (c == 0xF4 && text[n + 1] > 0x8F))
            unusual();
        n += more + 1;
    }
}

/* Words. */
static int blank(int c) { return c == ' ' || (c >= 9 && c <= 13); }

static void plain(Text *text) {
    int ends = 1;
    for (int n = text->size - 1; n >= 0; n--) {
        unsigned char *c = text->text + n;
        if (*c >= 'A' && *c <= 'Z') *c += 32;
        int mark = *c == '.' || *c == '!' || *c == '?';
        ends = blank(*c) || (mark && ends);
        if (mark && ends) *c = '\n';
    }
}

/* Moves *at to the next word; returns its length, 0 at the end. */
static int next_word(const Text *text, int *at) {
    int n = *at, size = text->size;
    const unsigned char *t = text->text;
    while (n < size && t[n] != '\n' && blank(t[n])) n++;
    *at = n;
    if (n == size) return 0;
    int end = n;
    if (t[n] != '\n')
        while (end < size) {
            if ((t[end] >= '0' && t[end] <= '9') || (t[end] >= 'a' && t[end] <= 'z')) end++;
            else if (t[end] >= 0xC3 && t[end] <= 0xDF) end += 2;
            else break;
        }
    if (end > n) return end - n;
    if (t[n] >= 0xE0 && t[n] <= 0xEF) return 3;
    if (t[n] >= 0xF0) return 4;
    return 1;
}

static int number_of(const unsigned char *word, int size) {
    uint32_t value = 2166136261u;
    for (int n = 0; n < size; n++) value = (value ^ word[n]) * 16777619u;
    uint32_t mask = (uint32_t)(sizes[WORD_TABLE] / 4) - 1;
    for (uint32_t slot = value & mask; ints[WORD_TABLE][slot] >= 0; slot = (slot + 1) & mask) {
        int number = ints[WORD_TABLE][slot];
        int begin = ints[WORD_OFFSET][number];
        if (ints[WORD_OFFSET][number + 1] - begin == size && !memcmp(bytes[WORD_BLOB] + begin, word, (size_t)size)) return number;
    }
    return -1;
}

static int frequency(int word) { return ints[POSTING_OFFSET][word + 1] - ints[POSTING_OFFSET][word]; }

static int too_common(int word) {
    int64_t most = records > COMMON * RARE ? records : COMMON * RARE;
    return (int64_t)frequency(word) * COMMON > most;
}

/* How often `second` follows `first` in answers. */
static int pairs(int first, int second) {
    int low = ints[PAIR_AT][first], end = ints[PAIR_AT][first + 1], high = end;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (ints[PAIR_WORD][middle] < second) low = middle + 1;
        else high = middle;
    }
    return low < end && ints[PAIR_WORD][low] == second ? ints[PAIR_COUNT][low] : 0;
}

/* Spans: words one after another in `spans.item`, span n from span_at[n] to span_at[n + 1]. */
static List spans, span_at, value_word;
static double *value_of; /* by place in value_word */
static int *value_slot;  /* by word + 1: place in value_word + 1 */

static int span_length(int n) { return span_at.item[n + 1] - span_at.item[n]; }

static void add_value(int word, double amount, double **values, int *space) {
    if (word <= 0 || value_slot[word + 1]) return;
    for (int n = 0; n < spans.count; n++)
        if (spans.item[n] == word) return;
    if (value_word.count == *space) {
        *space = *space ? 2 * *space : 64;
        *values = realloc(*values, (size_t)*space * sizeof(double));
        if (!*values) unusual();
    }
    (*values)[value_word.count] = amount;
    push(&value_word, word);
    value_slot[word + 1] = value_word.count;
}

static int holds(const List *list, int word) {
    for (int n = 0; n < list->count; n++)
        if (list->item[n] == word) return 1;
    return 0;
}

static int matches(const int *span, int length, int place) {
    return !memcmp(ints[STREAM] + place, span, (size_t)length * 4);
}

static double odds_of(int word, int other, int left, int right) {
    int size = ints[PLACE_COUNT][word], other_size = ints[PLACE_COUNT][other];
    int theirs[2] = {left >= 0 ? pairs(left, other) : 0, pairs(other, right)};
    int ours[2] = {left >= 0 ? pairs(left, word) : 0, pairs(word, right)};
    double total = 0.0;
    for (int n = 0; n < 2; n++) {
        double pooled = SMOOTHING * (((theirs[n] + ours[n]) + 0.01) / (size + other_size));
        total += log(((theirs[n] + pooled) * (size + SMOOTHING)) / ((ours[n] + pooled) * (other_size + SMOOTHING)));
    }
    return total;
}

static const double *sorted_by;
static const int *then_by;

static int descending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    if (sorted_by[x] != sorted_by[y]) return sorted_by[x] > sorted_by[y] ? -1 : 1;
    int p = then_by ? then_by[x] : x, q = then_by ? then_by[y] : y;
    return p < q ? -1 : p > q;
}

/* Holders in the order in which they are found, and their places. */
static List holder, place_at, place_length, place_next, first_place, last_place;

/* By record, how much better another word would fit; NULL where none is likely. */
static double *contest(const List *answer_words) {
    if (span_at.count != 2 || spans.count != 1 || holder.count < ENOUGH_HOLDERS) return NULL;
    int word = spans.item[0], edge = (int)(sizes[PLACE_COUNT] / 4), best = -1;
    double best_fit = LEAST_FIT;
    for (int slot = ints[SWAP_AT][word]; slot < ints[SWAP_AT][word + 1]; slot++) {
        int other = ints[SWAP_WORD][slot], asked = 0, total = 0;
        double own = 0.0;
        for (int n = 0; n < answer_words->count; n++) {
            if (answer_words->item[n] != word) continue;
            double value = odds_of(word, other, n ? answer_words->item[n - 1] : edge,
                                   n + 1 < answer_words->count ? answer_words->item[n + 1] : edge);
            if (!asked++ || value > own) own = value;
        }
        int begin = ints[SWAP_BEGIN][slot], top = ints[SWAP_BEGIN][slot + 1] - begin;
        if (top > MAX_RETURNED) top = MAX_RETURNED;
        for (int n = begin; n < begin + top; n++) total += bytes[SWAP_ODDS][n];
        double prior = log((double)ints[PLACE_COUNT][other] / ints[PLACE_COUNT][word]);
        double fit = (own < MOST_OWN ? own : MOST_OWN) + PRIOR_SCALE * (prior < 0.0 ? prior : 0.0) +
                     (double)total / (SWAP_STEPS * top);
        if (fit > best_fit) {
            best = slot;
            best_fit = fit;
        }
    }
    if (best < 0) return NULL;
    double *odds = room((size_t)records, sizeof(double));
    for (int n = ints[SWAP_BEGIN][best]; n < ints[SWAP_BEGIN][best + 1]; n++)
        odds[ints[SWAP_RECORD][n]] = bytes[SWAP_ODDS][n] / (double)SWAP_STEPS;
    return odds;
}

/* Records that hold both of two words. */
static int together(int first, int second) {
    int a = ints[POSTING_OFFSET][first], b = ints[POSTING_OFFSET][second], found = 0;
    while (a < ints[POSTING_OFFSET][first + 1] && b < ints[POSTING_OFFSET][second + 1]) {
        int difference = ints[POSTING][a] - ints[POSTING][b];
        found += difference == 0;
        a += difference <= 0;
        b += difference >= 0;
    }
    return found;
}

/* How open it is whether the query has a subject; `order` is by falling score. */
static double doubt_of(const int *order, const double *score, const double *covered, int count) {
    if (count <= MAX_RETURNED) return 0.0;
    double tenth = score[order[MAX_RETURNED - 1]], later = count > BEYOND ? score[order[BEYOND]] : 0.0;
    double ahead = (tenth - later) / ((tenth > LITTLE ? tenth : LITTLE) * STANDS_OUT), shared = covered[order[0]];
    for (int n = 1; n < MAX_RETURNED; n++)
        if (covered[order[n]] < shared) shared = covered[order[n]];
    shared /= ENOUGH_SHARED;
    return 1.0 - (ahead < 1.0 ? ahead : 1.0) * (shared < 1.0 ? shared : 1.0);
}

int main(int count, char **arguments) {
    if (count != 5) unusual();
    char *rest;
    long top = strtol(arguments[4], &rest, 10);
    if (*rest || arguments[4][0] < '0' || arguments[4][0] > '9' || top < 1 || top > MAX_RETURNED) unusual();
    open_index(arguments[1]);
    size_t size;
    cursor = whole(arguments[2], &size);
    limit = cursor + size;
    check_utf8(cursor, size);
    static const char *const keys[] = {"query_id", "prompt", "answer", "prompt_token_ids", "answer_token_ids", "error_positions"};
    Text texts[3] = {{0}};
    List lists[3] = {{0}};
    expect('{');
    for (int n = 0;; n++) {
        Text key = string();
        int which = 0;
        while (which < 6 && (strlen(keys[which]) != (size_t)key.size || memcmp(keys[which], key.text, (size_t)key.size))) which++;
        if (which == 6 || n == 6) unusual();
        expect(':');
        if (which < 3) {
            if (texts[which].given) unusual();
            texts[which] = string();
        } else {
            if (lists[which - 3].item) unusual();
            lists[which - 3] = integers();
        }
        blanks();
        if (cursor < limit && *cursor == '}') break;
        expect(',');
    }
    cursor++;
    blanks();
    if (cursor != limit) unusual();
    for (int n = 0; n < 3; n++)
        if (!texts[n].given || !lists[n].item) unusual();
    for (int n = 0; n < texts[0].size; n++)
        if (texts[0].text[n] < 32 || texts[0].text[n] == '"' || texts[0].text[n] == '\\') unusual();

    /* Marked bytes of the answer; a token that is blank marks nothing. */
    Text prompt = texts[1], answer = texts[2];
    int pieces = (int)(sizes[PIECE_OFFSET] / 4) - 1, at = 0;
    List tokens = lists[1], begin = {0}, end = {0};
    char *wanted = room((size_t)tokens.count, 1);
    for (int n = 0; n < lists[0].count; n++)
        if (lists[0].item[n] >= pieces) unusual();
    for (int n = 0; n < lists[2].count; n++) {
        if (lists[2].item[n] >= tokens.count) unusual();
        wanted[lists[2].item[n]] = 1;
    }
    for (int n = 0; n < tokens.count; n++) {
        if (tokens.item[n] >= pieces) unusual();
        int from = ints[PIECE_OFFSET][tokens.item[n]], length = ints[PIECE_OFFSET][tokens.item[n] + 1] - from;
        if (length > answer.size - at || memcmp(bytes[PIECE_BLOB] + from, answer.text + at, (size_t)length)) unusual();
        int low = at, high = at + length;
        while (low < high && blank(answer.text[low])) low++;
        while (high > low && blank(answer.text[high - 1])) high--;
        if (wanted[n] && low < high) {
            push(&begin, low);
            push(&end, high);
        }
        at += length;
    }
    if (at != answer.size) unusual();

    /* Spans and the value of the query's other words. */
    plain(&prompt);
    plain(&answer);
    int vocabulary = (int)(sizes[WORD_OFFSET] / 4) - 1;
    List answer_words = {0}, prompt_words = {0}, kept_words = {0}, sentence_of = {0}, current = {0};
    int length, upcoming = 0, sentence = 0;
    List telling = {0};
    push(&telling, 0);
    push(&span_at, 0);
    at = 0;
    for (int done = 0; !done;) {
        length = next_word(&answer, &at);
        done = !length;
        int number = done ? 0 : number_of(answer.text + at, length), marked = 0;
        if (!done) {
            push(&answer_words, number);
            while (upcoming < begin.count && end.item[upcoming] <= at) upcoming++;
            marked = upcoming < begin.count && begin.item[upcoming] < at + length && answer.text[at] != '\n';
        }
        if (marked) {
            push(&current, number);
            telling.item[sentence] = 1;
        } else {
            if (current.count) {
                int known = 0;
                for (int n = 0; n + 1 < span_at.count; n++)
                    known |= span_length(n) == current.count &&
                             !memcmp(spans.item + span_at.item[n], current.item, (size_t)current.count * sizeof(int));
                for (int n = 0; !known && n < current.count; n++) push(&spans, current.item[n]);
                if (!known) push(&span_at, spans.count);
                current.count = 0;
            }
            if (!done && number == 0) {
                sentence++;
                push(&telling, 0);
            } else if (!done) {
                push(&kept_words, number);
                push(&sentence_of, sentence);
            }
        }
        at += length;
    }
    at = 0;
    while ((length = next_word(&prompt, &at))) {
        push(&prompt_words, number_of(prompt.text + at, length));
        at += length;
    }
    value_slot = room((size_t)vocabulary + 2, sizeof(int));
    int space = 0;
    for (int n = 0; n < kept_words.count; n++)
        if (telling.item[sentence_of.item[n]] || span_at.count == 1)
            add_value(kept_words.item[n], holds(&prompt_words, kept_words.item[n]) ? FROM_BOTH : FROM_SENTENCE, &value_of, &space);
    for (int n = 0; n < prompt_words.count; n++) add_value(prompt_words.item[n], FROM_PROMPT, &value_of, &space);
    for (int n = 0; n < kept_words.count; n++) add_value(kept_words.item[n], FROM_REST, &value_of, &space);
    int own = 0;
    for (int n = 0; n < spans.count; n++)
        for (int k = 0; k < prompt_words.count; k++) own |= spans.item[n] == prompt_words.item[k];

    /* Holders. */
    int *holder_of = room((size_t)records, sizeof(int));
    for (int s = 0; s + 1 < span_at.count; s++) {
        const int *span = spans.item + span_at.item[s];
        int size_of_span = span_length(s), rarest = span[0], unknown = 0;
        for (int n = 0; n < size_of_span; n++) unknown |= span[n] < 0;
        if (unknown) continue;
        for (int n = 1; n < size_of_span; n++)
            if (frequency(span[n]) < frequency(rarest) || (frequency(span[n]) == frequency(rarest) && span[n] < rarest))
                rarest = span[n];
        for (int n = ints[POSTING_OFFSET][rarest]; n < ints[POSTING_OFFSET][rarest + 1]; n++) {
            int record = ints[POSTING][n];
            for (int place = ints[ANSWER_OFFSET][record]; place + size_of_span <= ints[RECORD_OFFSET][record + 1]; place++) {
                if (!matches(span, size_of_span, place)) continue;
                if (!holder_of[record]) {
                    push(&holder, record);
                    push(&first_place, place_at.count);
                    push(&last_place, -1);
                    holder_of[record] = holder.count;
                }
                int h = holder_of[record] - 1;
                if (last_place.item[h] >= 0) place_next.item[last_place.item[h]] = place_at.count;
                last_place.item[h] = place_at.count;
                push(&place_at, place);
                push(&place_length, size_of_span);
                push(&place_next, -1);
            }
        }
    }

    /* Bindings. */
    int values = value_word.count;
    List *where = room((size_t)values, sizeof(List)), *kind = room((size_t)values, sizeof(List));
    char *common = room((size_t)values, 1);
    int *state = room((size_t)values, sizeof(int));
    for (int v = 0; v < values; v++) common[v] = (char)too_common(value_word.item[v]);
    static const double amounts[] = {0, IN_REST, IN_PROMPT, IN_PROMPT, IN_SENTENCE, IN_SENTENCE, IN_BOTH, IN_BOTH};
    for (int h = 0; h < holder.count; h++) {
        int record = holder.item[h], first = ints[RECORD_OFFSET][record], middle = ints[ANSWER_OFFSET][record], last = ints[RECORD_OFFSET][record + 1];
        List touched = {0};
        for (int n = first; n < last; n++) {
            int v = value_slot[ints[STREAM][n] + 1] - 1;
            if (v < 0 || common[v]) continue;
            if (!state[v]) push(&touched, v);
            state[v] |= n < middle ? 2 : 1;
        }
        for (int p = first_place.item[h]; p >= 0; p = place_next.item[p]) {
            int low = place_at.item[p], high = low + place_length.item[p];
            while (low > middle && ints[STREAM][low - 1]) low--;
            while (high < last && ints[STREAM][high]) high++;
            for (int n = low; n < high; n++) {
                int v = value_slot[ints[STREAM][n] + 1] - 1;
                if (v >= 0 && !common[v]) state[v] |= 4;
            }
        }
        for (int n = 0; n < touched.count; n++) {
            int v = touched.item[n];
            push(&where[v], h);
            push(&kind[v], state[v]);
            state[v] = 0;
        }
        free(touched.item);
    }
    double *weight = room((size_t)values, sizeof(double)), *score = room((size_t)holder.count, sizeof(double));
    double *covered = room((size_t)holder.count, sizeof(double)), *idf = room((size_t)values, sizeof(double));
    double strongest = 0.0, beside_whole = 0.0, whole_idf = 0.0;
    for (int v = 0; v < values; v++) {
        int word = value_word.item[v];
        if (!common[v] && value_of[v] >= FROM_PROMPT) {
            idf[v] = value_of[v] * log((double)records / frequency(word));
            whole_idf += idf[v];
            if (value_of[v] >= FROM_SENTENCE) beside_whole += idf[v];
        }
        if (!where[v].count) continue;
        double both = 0.0, asked = 0.0;
        for (int n = 0; n < where[v].count; n++) {
            both += amounts[kind[v].item[n]];
            if (kind[v].item[n] & 2) asked += amounts[kind[v].item[n]];
        }
        double kept = both / (frequency(word) + DOUBT);
        if (kept > 1.0) kept = 1.0;
        if (value_of[v] != FROM_REST && asked != 0.0) {
            double share = asked / (ints[PROMPT_COUNT][word] + DOUBT);
            if (share > 1.0) share = 1.0;
            if (share > kept) kept = share;
        }
        double enough = both / (both + ENOUGH), lift = log(1.0 + kept * records / holder.count);
        weight[v] = value_of[v] * enough * kept * sqrt(kept) * lift;
        if (weight[v] > strongest) strongest = weight[v];
    }
    if (whole_idf == 0.0) whole_idf = 1.0;
    if (beside_whole == 0.0) beside_whole = 1.0;
    double most = strongest > FLOOR ? strongest : FLOOR;
    for (int v = 0; v < values; v++) {
        if (common[v] || value_of[v] < FROM_PROMPT) continue;
        for (int n = 0; n < where[v].count; n++) {
            covered[where[v].item[n]] += idf[v] / whole_idf;
            if (value_of[v] >= FROM_SENTENCE && kind[v].item[n] & 4)
                score[where[v].item[n]] += idf[v] / beside_whole * OVERLAP;
        }
    }
    for (int v = 0; v < values; v++)
        for (int n = 0; n < where[v].count; n++) score[where[v].item[n]] += weight[v] / most * amounts[kind[v].item[n]];

    /* Swaps, surprise, prompts. */
    int *order = room((size_t)holder.count, sizeof(int)), results[MAX_RETURNED], found = 0;
    for (int h = 0; h < holder.count; h++) order[h] = h;
    sorted_by = score;
    then_by = holder.item;
    if (holder.count) qsort(order, (size_t)holder.count, sizeof(int), descending);
    double doubt = doubt_of(order, score, covered, holder.count);

    /* Pairs with the heaviest word. */
    int anchor = -1;
    for (int v = 0; v < values; v++)
        if (weight[v] > 0.0 && (anchor < 0 || weight[v] > weight[anchor] ||
                                (weight[v] == weight[anchor] && value_word.item[v] < value_word.item[anchor])))
            anchor = v;
    if (anchor >= 0 && where[anchor].count <= WORDING * frequency(value_word.item[anchor])) {
        char *with_anchor = room((size_t)holder.count, 1);
        double *more = room((size_t)holder.count, sizeof(double));
        for (int n = 0; n < where[anchor].count; n++) with_anchor[where[anchor].item[n]] = 1;
        for (int v = 0; v < values; v++) {
            if (v == anchor || common[v] || value_of[v] != FROM_BOTH) continue;
            double both = 0.0;
            int chosen = 0;
            for (int n = 0; n < where[v].count; n++)
                if (with_anchor[where[v].item[n]]) {
                    both += amounts[kind[v].item[n]];
                    chosen++;
                }
            if (chosen < MAX_RETURNED) continue;
            double kept = both / (together(value_word.item[anchor], value_word.item[v]) + DOUBT);
            if (kept > 1.0) kept = 1.0;
            double lift = log(1.0 + kept * records / holder.count);
            double pair = value_of[v] * (both / (both + ENOUGH)) * kept * sqrt(kept) * lift, largest = FLOOR;
            if (weight[anchor] > largest) largest = weight[anchor];
            if (pair > largest) largest = pair;
            for (int n = 0; n < where[v].count; n++)
                if (with_anchor[where[v].item[n]]) more[where[v].item[n]] += pair / largest * amounts[kind[v].item[n]];
        }
        for (int h = 0; h < holder.count; h++) score[h] += more[h];
    }
    double *swaps = doubt > 0.0 ? contest(&answer_words) : NULL;
    for (int h = 0; h < holder.count; h++) {
        int surprise = 0, unexpected = 0, record = holder.item[h];
        for (int p = first_place.item[h]; p >= 0; p = place_next.item[p]) {
            int total = 0;
            for (int n = 0; n < place_length.item[p]; n++) {
                int value = bytes[SURPRISE][place_at.item[p] + n], near = bytes[CONTEXT][place_at.item[p] + n];
                if (value != NONE) total += value;
                if (near > unexpected) unexpected = near;
            }
            if (total > surprise) surprise = total;
        }
        score[h] += SURPRISE_SCALE * (surprise / 10.0) + CONTEXT_SCALE * (unexpected / 10.0);
        if (swaps) score[h] += CONTEST_SCALE * doubt * swaps[record];
        int p = first_place.item[h], asked = 0;
        for (int n = ints[RECORD_OFFSET][record]; !own && n + place_length.item[p] <= ints[ANSWER_OFFSET][record]; n++)
            asked |= matches(ints[STREAM] + place_at.item[p], place_length.item[p], n);
        if (asked) score[h] -= PROMPT_PENALTY;
    }
    if (holder.count) qsort(order, (size_t)holder.count, sizeof(int), descending);
    for (; found < top && found < holder.count; found++) results[found] = holder.item[order[found]];

    /* Records without a whole span. */
    if (found < top) {
        double *other = room((size_t)records, sizeof(double));
        char *taken = room((size_t)records, 1);
        List seen = {0};
        for (int n = 0; n < found; n++) taken[results[n]] = 2;
        for (int n = 0; n < spans.count + values; n++) {
            int word = n < spans.count ? spans.item[n] : value_word.item[n - spans.count], again = word < 0;
            for (int k = 0; k < n && n < spans.count; k++) again |= spans.item[k] == word;
            if (again || too_common(word)) continue;
            double amount = (n < spans.count ? 2.0 : value_of[n - spans.count]) * log(1.0 + (double)records / frequency(word));
            for (int k = ints[POSTING_OFFSET][word]; k < ints[POSTING_OFFSET][word + 1]; k++) {
                int record = ints[POSTING][k];
                if (taken[record] == 2) continue;
                if (!taken[record]) push(&seen, record);
                taken[record] = 1;
                other[record] += amount;
            }
        }
        sorted_by = other;
        then_by = NULL;
        if (seen.count) qsort(seen.item, (size_t)seen.count, sizeof(int), descending);
        for (int n = 0; n < seen.count && found < top; n++) {
            results[found++] = seen.item[n];
            taken[seen.item[n]] = 2;
        }
        for (int record = 0; record < records && found < top; record++)
            if (taken[record] != 2) results[found++] = record;
    }

    /* The output appears whole or not at all. */
    char *beside = room(strlen(arguments[3]) + 32, 1);
    sprintf(beside, "%s.%ld.part", arguments[3], (long)getpid());
    FILE *output = fopen(beside, "wb");
    if (!output) unusual();
    fprintf(output, "{\"query_id\": \"%.*s\", \"ids\": [", texts[0].size, (char *)texts[0].text);
    for (int n = 0; n < found; n++) {
        int from = ints[ID_OFFSET][results[n]];
        fprintf(output, "%s%.*s", n ? ", " : "", ints[ID_OFFSET][results[n] + 1] - from, (const char *)bytes[ID_BLOB] + from);
    }
    int failed = fprintf(output, "]}\n") < 0;
    if (fclose(output) || failed || rename(beside, arguments[3])) {
        unlink(beside);
        unusual();
    }
    return 0;
}
