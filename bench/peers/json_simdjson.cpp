// The extraction of bench/run with simdjson's on-demand parser: raw keys and tokens, numbers only where
// wanted. usage: json_simdjson FILE
#include <simdjson.h>
#include <cstdio>
#include <string_view>

int main(int, char **argv)
{
	auto text = simdjson::padded_string::load(argv[1]);
	simdjson::ondemand::parser parser;
	auto doc = parser.iterate(text);
	uint64_t spans = 0, corr = 0;
	double dur_us = 0;
	for (simdjson::ondemand::object ev : doc["traceEvents"]) {
		bool span = false;
		double dur = 0;
		uint64_t c = 0;
		for (auto field : ev) {
			simdjson::ondemand::raw_json_string key = field.key();
			if (key == "ph")
				span = field.value().get_raw_json_string().value().raw()[0] == 'X';
			else if (key == "dur")
				dur = field.value().get_double();
			else if (key == "args" && span)
				for (auto arg : field.value().get_object())
					if (simdjson::ondemand::raw_json_string(arg.key()) == "correlation")
						c = arg.value().get_uint64();
		}
		if (span) {
			spans++;
			dur_us += dur;
			corr += c;
		}
	}
	std::printf("spans %llu dur %.0f us corr %llu\n", (unsigned long long)spans, dur_us, (unsigned long long)corr);
}
