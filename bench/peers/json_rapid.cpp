// The extraction of bench/run with RapidJSON's streaming reader. usage: json_rapid FILE
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>
#include <cstdio>
#include <cstring>

struct Handler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
	int depth = 0;
	bool events = false, span = false;
	enum { NONE, EVENTS, PH, DUR, CORR } key = NONE;
	double dur = 0, total_us = 0;
	uint64_t c = 0, spans = 0, corr = 0;

	bool number(double v)
	{
		if (key == DUR && depth == 3)
			dur = v;
		if (key == CORR && depth == 4)
			c = (uint64_t)v;
		key = NONE;
		return true;
	}
	bool Int(int v) { return number(v); }
	bool Uint(unsigned v) { return number(v); }
	bool Int64(int64_t v) { return number((double)v); }
	bool Uint64(uint64_t v) { return number((double)v); }
	bool Double(double v) { return number(v); }
	bool String(const char *s, rapidjson::SizeType, bool)
	{
		if (key == PH && depth == 3)
			span = s[0] == 'X';
		key = NONE;
		return true;
	}
	bool Key(const char *s, rapidjson::SizeType, bool)
	{
		key = !std::strcmp(s, "traceEvents") ? EVENTS
		      : !std::strcmp(s, "ph")        ? PH
		      : !std::strcmp(s, "dur")       ? DUR
		      : !std::strcmp(s, "correlation") ? CORR
						       : NONE;
		return true;
	}
	bool StartArray()
	{
		events |= depth == 1 && key == EVENTS;
		depth++;
		return true;
	}
	bool EndArray(rapidjson::SizeType) { return depth--, true; }
	bool StartObject()
	{
		if (++depth == 3)
			span = false, dur = 0, c = 0;
		return true;
	}
	bool EndObject(rapidjson::SizeType)
	{
		if (events && depth == 3 && span)
			spans++, total_us += dur, corr += c;
		return depth--, true;
	}
};

int main(int, char **argv)
{
	static char buffer[1 << 18];
	FILE *f = std::fopen(argv[1], "rb");
	rapidjson::FileReadStream in(f, buffer, sizeof buffer);
	Handler h;
	rapidjson::Reader reader;
	reader.Parse(in, h);
	std::printf("spans %llu dur %.0f us corr %llu\n", (unsigned long long)h.spans, h.total_us, (unsigned long long)h.corr);
	std::fclose(f);
}
