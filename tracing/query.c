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

enum { STREAM, RECORD, ANSWER, WORDS, WORD_AT, TABLE, POSTING_AT, POSTING, SURPRISE, ALT_AT, ALT, ALT_LOSS, CONTEXT,
       USUAL_AT, USUAL, PIECES, PIECE_AT, IDS, ID_AT, PROMPT_COUNT, SECTIONS };
enum { NONE = 255, COMMON = 8, RARE = 50, ALTERNATIVES = 3, ENOUGH_HOLDERS = 11, CANDIDATES = 5, MOST_RECORDS = 1500,
       NEAR = 6, TOP = 10, MOST_FEATURES = 5 + 2 * NEAR };
static const double FROM_SENTENCE = 1.0, FROM_PROMPT = 0.7, FROM_REST = 0.15;
static const double IN_BOTH = 1.2, IN_SENTENCE = 1.0, IN_PROMPT = 0.8, IN_REST = 0.3;
static const double ENOUGH = 10.0, DOUBT = 4.0, FLOOR_WEIGHT = 0.4, OVERLAP = 0.5, STRONG = 0.6, CONTEST_SCALE = 0.3;
static const double FEATURE_WEIGHTS[6] = {1.0, 1.0, 0.5, 0.5, 0.5, 0.3};
static const double SMOOTHING = 3.0, MOST_GAP = 4.0, USUAL_GAP = 2.0, GAP_SCALE = 0.5, UNLISTED = 1.0;
static const double MOST_ODDS = 15.0, MOST_OWN = 6.0, LEAST_FIT = 4.0;
static const double PROMPT_PENALTY = 1.0, SURPRISE_SCALE = 0.05, CONTEXT_SCALE = 0.03;

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
    if (handle < 0 || fstat(handle, &about) || !S_ISREG(about.st_mode) || about.st_size > (64 << 20)) unusual();
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
    if (file == MAP_FAILED || memcmp(file, "WTRACE01", 8)) unusual();
    uint64_t end = (uint64_t)about.st_size;
    for (int n = 0; n < SECTIONS; n++) {
        uint64_t entry[2];
        memcpy(entry, file + 8 + 16 * n, 16);
        if (entry[0] > end || entry[1] > end - entry[0] || entry[0] % 8) unusual();
        bytes[n] = file + entry[0];
        ints[n] = (const int32_t *)(const void *)(file + entry[0]);
        sizes[n] = entry[1];
    }
    records = (int)(sizes[RECORD] / 4) - 1;
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
    uint32_t mask = (uint32_t)(sizes[TABLE] / 4) - 1;
    for (uint32_t slot = value & mask; ints[TABLE][slot] >= 0; slot = (slot + 1) & mask) {
        int number = ints[TABLE][slot];
        int begin = ints[WORD_AT][number];
        if (ints[WORD_AT][number + 1] - begin == size && !memcmp(bytes[WORDS] + begin, word, (size_t)size)) return number;
    }
    return -1;
}

static int frequency(int word) { return ints[POSTING_AT][word + 1] - ints[POSTING_AT][word]; }

static int too_common(int word) {
    int64_t most = records > COMMON * RARE ? records : COMMON * RARE;
    return (int64_t)frequency(word) * COMMON > most;
}

static int slot_of(int section, int place) {
    int low = 0, count = (int)(sizes[section] / 4), high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (ints[section][middle] < place) low = middle + 1;
        else high = middle;
    }
    return low < count && ints[section][low] == place ? low : -1;
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

static int matches(const int *span, int length, int place) {
    return !memcmp(ints[STREAM] + place, span, (size_t)length * 4);
}

/* Counts of features, by open addressing. */
typedef struct { uint64_t *key; int *count; uint64_t mask; uint64_t used; } Map;

static Map new_map(void) {
    Map map = {room(1 << 12, sizeof(uint64_t)), room(1 << 12, sizeof(int)), (1 << 12) - 1, 0};
    return map;
}

static uint64_t slot_for(const Map *map, uint64_t key) {
    uint64_t slot = (key * 0x9E3779B97F4A7C15u) >> 20 & map->mask;
    while (map->key[slot] && map->key[slot] != key) slot = (slot + 1) & map->mask;
    return slot;
}

static int count_of(const Map *map, uint64_t key) { return map->count[slot_for(map, key)]; }

static void add(Map *map, uint64_t key) {
    uint64_t slot = slot_for(map, key);
    if (!map->key[slot]) {
        if (2 * ++map->used > map->mask) {
            Map larger = {room(4 * (map->mask + 1), sizeof(uint64_t)), room(4 * (map->mask + 1), sizeof(int)),
                          4 * (map->mask + 1) - 1, map->used};
            for (uint64_t n = 0; n <= map->mask; n++)
                if (map->key[n]) {
                    uint64_t to = slot_for(&larger, map->key[n]);
                    larger.key[to] = map->key[n];
                    larger.count[to] = map->count[n];
                }
            free(map->key);
            free(map->count);
            *map = larger;
            slot = slot_for(map, key);
        }
        map->key[slot] = key;
    }
    map->count[slot]++;
}

static int context(const int *words, int place, int low, int high, uint64_t *features) {
    uint64_t left = place > low ? (uint64_t)(words[place - 1] + 2) : 1;
    uint64_t right = place + 1 < high ? (uint64_t)(words[place + 1] + 2) : 1;
    uint64_t lefter = place - 1 > low ? (uint64_t)(words[place - 2] + 2) : 1;
    uint64_t righter = place + 2 < high ? (uint64_t)(words[place + 2] + 2) : 1;
    features[0] = left;
    features[1] = (uint64_t)1 << 58 | right;
    features[2] = (uint64_t)2 << 58 | lefter << 29 | left;
    features[3] = (uint64_t)3 << 58 | right << 29 | righter;
    features[4] = (uint64_t)4 << 58 | left << 29 | right;
    int count = 5, begin = place - NEAR > low ? place - NEAR : low, end = place + 1 + NEAR < high ? place + 1 + NEAR : high;
    for (int n = begin; n < end; n++) {
        if (n == place) continue;
        uint64_t feature = (uint64_t)5 << 58 | (uint64_t)(words[n] + 2);
        int known = 0;
        for (int k = 5; k < count; k++) known |= features[k] == feature;
        if (!known) features[count++] = feature;
    }
    return count;
}

static double odds_of(const uint64_t *features, int count, const Map *here, const Map *there, int size, int other, int own) {
    double total = 0.0;
    for (int n = 0; n < count; n++) {
        int theirs = count_of(there, features[n]), ours = count_of(here, features[n]) - own;
        double pooled = SMOOTHING * (((theirs + ours) + 0.01) / (size + other));
        double ratio = ((theirs + pooled) * ((size - own) + SMOOTHING)) / ((ours + pooled) * (other + SMOOTHING));
        total += FEATURE_WEIGHTS[features[n] >> 58] * log(ratio);
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

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Holders in the order in which they are found, and their places. */
static List holder, place_at, place_length, place_next, first_place, last_place;

static double *contest(const List *answer_words) {
    if (span_at.count != 2 || spans.count != 1 || holder.count < ENOUGH_HOLDERS) return NULL;
    int word = spans.item[0], vocabulary = (int)(sizes[WORD_AT] / 4) - 1;
    List place = {0}, owner = {0};
    for (int h = 0; h < holder.count; h++)
        for (int n = first_place.item[h]; n >= 0; n = place_next.item[n]) {
            push(&place, place_at.item[n]);
            push(&owner, h);
        }
    double *tally = room((size_t)vocabulary, sizeof(double));
    List candidate = {0};
    for (int n = 0; n < place.count; n++) {
        int at = place.item[n], surprise = bytes[SURPRISE][at], slot;
        if (surprise != NONE && (slot = slot_of(ALT_AT, at)) >= 0)
            for (int k = 0; k < ALTERNATIVES; k++) {
                int other = ints[ALT][slot * ALTERNATIVES + k], loss = bytes[ALT_LOSS][slot * ALTERNATIVES + k];
                if (other > 0 && other != word && surprise > loss) {
                    double gap = (surprise - loss) / 10.0;
                    if (tally[other] == 0.0) push(&candidate, other);
                    tally[other] += gap < MOST_GAP ? gap : MOST_GAP;
                }
            }
        if ((slot = slot_of(USUAL_AT, at)) >= 0 && ints[USUAL][slot] > 0) {
            int other = ints[USUAL][slot];
            if (tally[other] == 0.0) push(&candidate, other);
            tally[other] += USUAL_GAP;
        }
    }
    sorted_by = tally;
    then_by = NULL;
    if (candidate.count) qsort(candidate.item, (size_t)candidate.count, sizeof(int), descending);
    uint64_t *features = room((size_t)place.count * MOST_FEATURES, sizeof(uint64_t));
    int *feature_count = room((size_t)place.count, sizeof(int));
    Map here = new_map();
    for (int n = 0; n < place.count; n++) {
        int record = holder.item[owner.item[n]];
        uint64_t *own = features + (size_t)n * MOST_FEATURES;
        feature_count[n] = context(ints[STREAM], place.item[n], ints[ANSWER][record], ints[RECORD][record + 1], own);
        for (int k = 0; k < feature_count[n]; k++) add(&here, own[k]);
    }
    double *best = NULL, best_fit = LEAST_FIT;
    uint64_t one[MOST_FEATURES];
    for (int c = 0; c < candidate.count && c < CANDIDATES; c++) {
        int other = candidate.item[c], count = 0, postings = frequency(other);
        Map there = new_map();
        for (int n = 0; n < postings; n += 1 + (postings - 1) / MOST_RECORDS) {
            int record = ints[POSTING][ints[POSTING_AT][other] + n];
            int low = ints[ANSWER][record], high = ints[RECORD][record + 1];
            for (int at = low; at < high; at++)
                if (ints[STREAM][at] == other) {
                    count++;
                    int found = context(ints[STREAM], at, low, high, one);
                    for (int k = 0; k < found; k++) add(&there, one[k]);
                }
        }
        double *odds = room((size_t)holder.count, sizeof(double)), *ordered = room((size_t)holder.count, sizeof(double));
        char *seen = room((size_t)holder.count, 1);
        for (int n = 0; n < place.count; n++) {
            int at = place.item[n], h = owner.item[n];
            double value = odds_of(features + (size_t)n * MOST_FEATURES, feature_count[n], &here, &there, place.count, count, 1);
            int surprise = bytes[SURPRISE][at];
            if (surprise != NONE) {
                double gap = -UNLISTED;
                int slot = slot_of(ALT_AT, at);
                for (int k = 0; slot >= 0 && k < ALTERNATIVES; k++)
                    if (ints[ALT][slot * ALTERNATIVES + k] == other) {
                        gap = (surprise - bytes[ALT_LOSS][slot * ALTERNATIVES + k]) / 10.0;
                        break;
                    }
                value += GAP_SCALE * gap;
            }
            if (value > MOST_ODDS) value = MOST_ODDS;
            if (!seen[h] || value > odds[h]) odds[h] = value;
            seen[h] = 1;
        }
        double own = 0.0;
        int asked = 0;
        for (int n = 0; n < answer_words->count; n++)
            if (answer_words->item[n] == word) {
                int found = context(answer_words->item, n, 0, answer_words->count, one);
                double value = odds_of(one, found, &here, &there, place.count, count, 0);
                if (!asked++ || value > own) own = value;
            }
        memcpy(ordered, odds, (size_t)holder.count * sizeof(double));
        qsort(ordered, (size_t)holder.count, sizeof(double), ascending);
        double total = 0.0;
        for (int n = holder.count - TOP; n < holder.count; n++) total += ordered[n];
        double fit = (own < MOST_OWN ? own : MOST_OWN) + total / TOP;
        if (fit > best_fit) {
            best = odds;
            best_fit = fit;
        }
        free(there.key);
        free(there.count);
    }
    return best;
}

int main(int count, char **arguments) {
    if (count != 5) unusual();
    char *rest;
    long top = strtol(arguments[4], &rest, 10);
    if (*rest || arguments[4][0] < '0' || arguments[4][0] > '9' || top < 1 || top > TOP) unusual();
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
    int pieces = (int)(sizes[PIECE_AT] / 4) - 1, at = 0;
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
        int from = ints[PIECE_AT][tokens.item[n]], length = ints[PIECE_AT][tokens.item[n] + 1] - from;
        if (length > answer.size - at || memcmp(bytes[PIECES] + from, answer.text + at, (size_t)length)) unusual();
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
    int vocabulary = (int)(sizes[WORD_AT] / 4) - 1;
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
            add_value(kept_words.item[n], FROM_SENTENCE, &value_of, &space);
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
        for (int n = ints[POSTING_AT][rarest]; n < ints[POSTING_AT][rarest + 1]; n++) {
            int record = ints[POSTING][n];
            for (int place = ints[ANSWER][record]; place + size_of_span <= ints[RECORD][record + 1]; place++) {
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
        int record = holder.item[h], first = ints[RECORD][record], middle = ints[ANSWER][record], last = ints[RECORD][record + 1];
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
    double strongest = 0.0, all = 0.0;
    for (int v = 0; v < values; v++) {
        int word = value_word.item[v];
        if (!common[v] && value_of[v] == FROM_SENTENCE) all += log((double)records / frequency(word));
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
    if (all == 0.0) all = 1.0;
    double most = strongest > FLOOR_WEIGHT ? strongest : FLOOR_WEIGHT;
    for (int v = 0; v < values; v++) {
        if (common[v] || value_of[v] != FROM_SENTENCE) continue;
        double idf = log((double)records / frequency(value_word.item[v])) / all * OVERLAP;
        for (int n = 0; n < where[v].count; n++)
            if (kind[v].item[n] & 4) score[where[v].item[n]] += idf;
    }
    for (int v = 0; v < values; v++)
        for (int n = 0; n < where[v].count; n++) score[where[v].item[n]] += weight[v] / most * amounts[kind[v].item[n]];

    /* Swaps, surprise, prompts. */
    double sure = strongest / STRONG, doubt = 1.0 - (sure < 1.0 ? sure : 1.0);
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
        if (swaps) score[h] += CONTEST_SCALE * doubt * swaps[h];
        int p = first_place.item[h], asked = 0;
        for (int n = ints[RECORD][record]; !own && n + place_length.item[p] <= ints[ANSWER][record]; n++)
            asked |= matches(ints[STREAM] + place_at.item[p], place_length.item[p], n);
        if (asked) score[h] -= PROMPT_PENALTY;
    }
    int *order = room((size_t)holder.count, sizeof(int)), results[TOP], found = 0;
    for (int h = 0; h < holder.count; h++) order[h] = h;
    sorted_by = score;
    then_by = holder.item;
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
            for (int k = ints[POSTING_AT][word]; k < ints[POSTING_AT][word + 1]; k++) {
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
        int from = ints[ID_AT][results[n]];
        fprintf(output, "%s%.*s", n ? ", " : "", ints[ID_AT][results[n] + 1] - from, (const char *)bytes[IDS] + from);
    }
    int failed = fprintf(output, "]}\n") < 0;
    if (fclose(output) || failed || rename(beside, arguments[3])) {
        unlink(beside);
        unusual();
    }
    return 0;
}
