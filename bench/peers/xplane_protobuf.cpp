// What protobuf's own parser needs for an XPlane file: every message made, events counted and their lengths summed.
// usage: xplane_protobuf FILE ; built with the code that protoc makes of tests/xplane/xplane.proto
#include <cstdio>
#include <fcntl.h>

#include <google/protobuf/arena.h>

#include "xplane.pb.h"

int main(int, char **argv)
{
	google::protobuf::Arena arena;
	auto *space = google::protobuf::Arena::CreateMessage<tensorflow::profiler::XSpace>(&arena);
	if (!space->ParseFromFileDescriptor(open(argv[1], O_RDONLY)))
		return 1;
	unsigned long long events = 0, stats = 0, ps = 0;
	for (const auto &plane : space->planes())
		for (const auto &line : plane.lines())
			for (const auto &event : line.events()) {
				events++;
				stats += event.stats_size();
				ps += event.duration_ps();
			}
	std::printf("events %llu stats %llu ps %llu\n", events, stats, ps);
}
