/*
 * save_html.c - the page with its answers in it.
 *
 * The markup is that of src/view/page/index.html; at four places something else is put. What comes out of
 * the trace goes through text_put_xml(), or into a block of JSON in which no "<" stands.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "report/why.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/page.h"
#include "view/save.h"
#include "view/saving.h"

#define WIDTH	 1600u /* columns */
#define ROWS_MAX 1000u
#define AT_LINKS \
	"<link rel=\"stylesheet\" href=\"style.css\">\n<script type=\"module\" src=\"main.js\"></script>\n"
#define AT_HEAD	  "<h1 id=\"headline\">holdup</h1>"
#define AT_STATUS "<p id=\"status\" role=\"status\">Opening the trace …</p>"
#define AT_ROWS	  "<tbody></tbody>"
#define AT_LANES  "</canvas></div>"
#define AT_CHAIN  "<ol id=\"chain\"></ol>"

/* The markup up to 'mark', which is left out. */
static void put_until(FILE *out, const char **at, const char *mark)
{
	const char *end = strstr(*at, mark);

	if (!end) /* it is ours, and a test saves a file */
		abort();
	(void)fwrite(*at, 1, (size_t)(end - *at), out);
	*at = end + strlen(mark);
}

static void put_links(FILE *out)
{
	fprintf(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action "
		"'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<style>",
		view_saved_script_hash, view_saved_style_hash);
	(void)fwrite(view_saved_style.bytes, 1, view_saved_style.count, out);
	fputs("</style>\n", out);
}

static void put_thread(FILE *out, const struct why_thread *who)
{
	AUTO_FREE char *name = xasprintf("%s[%d]", who->comm[0] ? who->comm : "?", who->tid);

	text_put_xml(out, name);
}

static void put_row(FILE *out, const struct why *why, size_t index)
{
	const struct why_root *root = &why->roots[index];
	AUTO_FREE char *words = report_why_root(why, root);

	fprintf(out,
		"<tr data-row=\"%zu\" aria-selected=\"%s\" tabindex=\"0\"><td><span "
		"class=\"share\">%s</span></td><td>%s</td><td>",
		index, index ? "false" : "true", text_percent(root->ns, verdict_ns(why)).s,
		text_duration(root->ns).s);
	text_put_xml(out, words);
	fputs("</td><td>", out);
	if (root->who.tid)
		put_thread(out, &root->who);
	fputs("</td></tr>\n", out);
}

static void put_rows(FILE *out, const struct explanation *answer)
{
	fputs("<tbody>\n", out);
	for (size_t i = 0; answer->count && i < answer->results[0].root_count && i < ROWS_MAX; i++)
		put_row(out, &answer->results[0], i);
	fputs("</tbody>", out);
}

static void put_headline(FILE *out, const struct saving *saving)
{
	const char *missing = verdict_missing(saving->view);
	AUTO_FREE char *words = NULL;

	fputs("<h1 id=\"headline\">", out);
	if (saving->answer->count) {
		words = report_why_headline(&saving->answer->results[0],
					    saving->view->loaded->facts, saving->view->to_ns != 0);
		text_put_xml(out, words);
	} else {
		fputs(missing ? missing : "No command was recorded", out);
	}
	fputs("</h1>\n  <p id=\"status\" role=\"status\">Saved by holdup</p>", out);
}

/* For who runs no script; where one runs, the page draws. */
static void put_picture(FILE *out, const struct saving *saving)
{
	fputs("</canvas></div>\n<noscript>", out);
	saving_put_svg(out, saving);
	saving_put_others_table(out, saving);
	fputs("</noscript>", out);
}

static void put_chain(FILE *out, const struct explanation *answer)
{
	const struct why *told = answer->count ? verdict_told(&answer->results[0]) : NULL;

	fputs("<ol id=\"chain\">\n", out);
	for (size_t i = 0; told && i < report_why_hops(told); i++) {
		AUTO_FREE char *words = report_why_hop(told, i);

		fputs("<li>", out);
		text_put_xml(out, words);
		fputs("</li>\n", out);
	}
	fputs("</ol>", out);
}

/* ------------------------------------------------------------------ the data */

void saving_put_base64(FILE *out, const char *bytes, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		uint32_t three = 0;

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (i + k < count ? (unsigned char)bytes[i + k] : 0);
		fputc(digits[three >> 18], out);
		fputc(digits[three >> 12 & 63], out);
		fputc(i + 1 < count ? digits[three >> 6 & 63] : '=', out);
		fputc(i + 2 < count ? digits[three & 63] : '=', out);
	}
}

void saving_put_json(FILE *out, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(bytes[i], out);
	}
}

/* The answer of a route, as the server gives it. */
static void ask(const struct saving *saving, const char *route, const char *query,
		struct view_answer *out_answer)
{
	view_answer_route(saving->view, route, query, out_answer);
}

static char *lanes_query(const struct saving *saving)
{
	char *text = xasprintf("from=%" PRIu64 "&to=%" PRIu64 "&width=%u&rows=", saving->from_ns,
			       saving->to_ns, WIDTH);

	for (uint32_t i = 0; i < saving->count; i++) {
		char *longer = xasprintf("%s%s%c%u", text, i ? "," : "", saving->lanes[i].kind,
					 saving->lanes[i].index);

		free(text);
		text = longer;
	}
	return text;
}

static void put_lanes(FILE *out, const struct saving *saving)
{
	AUTO_FREE char *query = lanes_query(saving);
	struct view_answer lanes;

	ask(saving, "lanes", query, &lanes);
	fputs(",\"lanes\":\"", out);
	saving_put_base64(out, lanes.bytes, lanes.count);
	fputc('"', out);
	view_answer_fini(&lanes);
}

static void put_verdict(FILE *out, const struct saving *saving)
{
	struct view_answer answer;
	struct view_json json;

	fputs(",\"verdict\":", out);
	view_json_begin(&json);
	if (saving->answer->count)
		verdict_json(&json.json, saving->view, saving->answer, saving->view->to_ns != 0);
	view_json_end(&json, &answer);
	saving_put_json(out, answer.bytes, answer.count);
	view_answer_fini(&answer);
}

/* Who the lanes are of. */
static void put_threads(FILE *out, const struct saving *saving)
{
	struct view_answer answer;
	struct view_json json;

	fputs(",\"threads\":", out);
	view_json_begin(&json);
	json_begin_array(&json.json, "lanes");
	for (uint32_t i = 0; i < saving->count; i++) {
		if (saving->lanes[i].kind == 't')
			view_json_slot(&json.json, NULL, saving->view, saving->lanes[i].index);
	}
	json_end_array(&json.json);
	view_json_end(&json, &answer);
	saving_put_json(out, answer.bytes, answer.count);
	view_answer_fini(&answer);
}

/* What is looked at is the window: "start" says so. */
static void put_data(FILE *out, const struct saving *saving)
{
	struct view windowed = *saving->view;
	struct view_answer start;

	windowed.from_ns = saving->from_ns;
	windowed.to_ns = saving->to_ns;
	view_answer_route(&windowed, "start", "", &start);
	fputs("{\"start\":", out);
	saving_put_json(out, start.bytes, start.count);
	view_answer_fini(&start);
	put_verdict(out, saving);
	put_threads(out, saving);
	put_lanes(out, saving);
	saving_put_others(out, saving);
	fputc('}', out);
}

static void put_scripts(FILE *out, const struct saving *saving)
{
	fputs("<script type=\"application/json\" id=\"data\">", out);
	put_data(out, saving);
	fputs("</script>\n<script type=\"module\">", out);
	(void)fwrite(view_saved_script.bytes, 1, view_saved_script.count, out);
	fputs("</script>\n</body>", out);
}

int view_save_html(FILE *out, const struct view *view, const struct explanation *answer,
		   struct err *err)
{
	const struct view_page *page = view_page_find("");
	AUTO_FREE char *markup = xstrndup((const char *)page->bytes, page->count);
	const char *at = markup;
	struct saving saving;
	int rc = saving_make(view, answer, &saving, err);

	if (rc < 0)
		return rc;
	put_until(out, &at, AT_LINKS);
	put_links(out);
	put_until(out, &at, AT_HEAD);
	put_headline(out, &saving);
	at = strstr(at, AT_STATUS) + strlen(AT_STATUS);
	put_until(out, &at, AT_ROWS);
	put_rows(out, saving.answer);
	put_until(out, &at, AT_LANES);
	put_picture(out, &saving);
	put_until(out, &at, AT_CHAIN);
	put_chain(out, saving.answer);
	put_until(out, &at, "</body>");
	put_scripts(out, &saving);
	fputs(at, out);
	saving_fini(&saving);
	return 0;
}

int view_save_data(FILE *out, const struct view *view, struct err *err)
{
	const struct explanation none = { 0 };
	struct saving saving;
	int rc = saving_make(view, &none, &saving, err);

	if (rc < 0)
		return rc;
	put_data(out, &saving);
	saving_fini(&saving);
	return 0;
}
