# One command for each task; `make` alone lists the main ones, `make help-all` every one.
#
# A target whose comment begins with `##` is a main one, and with `###` one of the others.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A crashing test otherwise waits for a symbolicating child process that holds the output open.
export SWIFT_BACKTRACE := enable=no

# The product with all tests. To build it alone leaves out the programs that these tests do not start.
TEST_PRODUCT := chappie-transportPackageTests
# The index stays: the package manager looks in it for tests, and a build without it takes as long.
BUILD_FLAGS := --explicit-target-dependency-import-check error
# Debian's swiftlang has this overlay's module and not its library, so nothing that imports it could be linked.
SWIFT_LIBRARIES = $(dir $(realpath $(shell command -v swift)))../lib/swift/linux
BUILD_FLAGS += $(if $(wildcard $(SWIFT_LIBRARIES)/lib_Testing_Foundation.so),,\
	-Xswiftc -Xfrontend -Xswiftc -disable-cross-import-overlays)
# All at once, hundreds of tests with sockets starve each other on two cores until their time-outs are over.
TEST_FLAGS := --no-parallel
LINT_PATHS := $(wildcard Package.swift Sources Tests Benchmarks/Sources Fuzz/Sources \
	Examples/Package.swift Examples/Sources Examples/Tests)
# The benchmarks are targets of this package that are there when they are asked for.
BENCHMARKS := CHAPPIE_BENCHMARKS=1 swift build --configuration release --scratch-path .build/benchmarks
SHELL_SCRIPTS := $(wildcard Scripts/*.sh) .ci/run

# How long each fuzz target runs, and which one; all when it is empty.
SECONDS := 60
TARGET :=
# How long `make fuzz-nightly` may take.
HOURS := 8
# Which tests `make test` runs: part of a name; all when it is empty. Which module `make quick` tests.
TESTS :=
MODULE := StreamSession

# The port of `make docs-serve`.
PORT := 8000

# How long a soak is; `make soak SECONDS=n` says otherwise. Which benchmarks `make bench` runs: part of a name.
SOAK_SECONDS := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),3600)
FILTER :=
# `make soak CLIENTS=1` runs WebSocketClient and EventSource in place of the engine.
CLIENTS :=
# `make budgets BUDGETS=--without-command` leaves out the program that takes longest to build.
BUDGETS :=
# Which cases `make doctor-faults` runs: words of their names; all when it is empty.
WORDS :=
# Which results.json `make bench-report` and `make bench-readme` read: the last one when it is empty.
RESULTS :=

# The steps share two cores and one build folder: one after another, in the order written, but for those that wait much
# (Scripts/at-once.sh).
.NOTPARALLEL:

.PHONY: help help-all demo quick test socket-tests more-socket-tests other-tests check rest-of-check install format lint \
	pages-and-samples sanitizers thread-sanitizer thread-sanitizer-build thread-sanitizer-run \
	socket-tests-under-tsan more-socket-tests-under-tsan other-tests-under-tsan address-sanitizer \
	address-sanitizer-build address-sanitizer-run budgets-and-fuzz-inputs scan-forms docs docs-serve api-accept examples benchmarks-build \
	budgets budgets-accept fuzz fuzz-nightly fuzz-regressions fuzz-coverage fuzz-planted \
	simulate mutations model torture torture-sample corpus promise promise-sample relay-torture samples soak soak-sample bench bench-peers \
	bench-report bench-readme runner-tests figures churn \
	routes doctor-faults credential-crashes browser-sign-in http-oracle interop interop-model \
	autobahn autobahn-quick autobahn-full autobahn-client platforms platform-sample deb deb-check dependency-check release-check release-date release clean

help: ## List the main targets
	@awk -F ':.*## ' '/^[a-z-]+:.*[^#]## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

help-all: ## List every target
	@awk -F ':.*##+ ' '/^[a-z-]+:.*## / { printf "  make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install ## Build the command line and run its demonstration
	@swift build $(BUILD_FLAGS) --product chappie
	@"$$(swift build --show-bin-path)/chappie" demo

test: install ## Build everything and run every test; TESTS=name for some
	@Scripts/install.sh test
	swift build $(BUILD_FLAGS) --build-tests
	@$(if $(TESTS),swift test --skip-build $(TEST_FLAGS) --filter '$(TESTS)',\
		Scripts/at-once.sh socket-tests more-socket-tests other-tests)

# Three processes, because the tests with sockets wait much: their suites are divided by name into halves of about the
# same time. What all read has been built.
socket-tests: ### Run the first half of the tests with real sockets, as `make test` has built them
	swift test --skip-build --ignore-lock $(TEST_FLAGS) --filter '^LoopbackTests\.[A-FT]'

more-socket-tests: ### Run the second half of the tests with real sockets
	swift test --skip-build --ignore-lock $(TEST_FLAGS) --filter '^LoopbackTests\.[^A-FT]'

other-tests: ### Run the other tests, as `make test` has built them
	swift test --skip-build --ignore-lock $(TEST_FLAGS) --skip '^LoopbackTests\.'

# In a folder of its own, where only the chosen module and those below it are built.
quick: lint ## Lint, then build and test one module: MODULE=StreamSession
	CHAPPIE_TEST_TARGETS=$(MODULE)Tests swift build $(BUILD_FLAGS) --product $(TEST_PRODUCT) \
		--scratch-path .build/quick
	CHAPPIE_TEST_TARGETS=$(MODULE)Tests swift test --skip-build --disable-xctest --scratch-path .build/quick \
		--filter '^$(MODULE)Tests\.'

# Warnings are errors in every step, the one that tests included, so that nothing is built twice.
check rest-of-check: export CHAPPIE_WARNINGS_AS_ERRORS := 1

# Half an hour where nothing else runs. The sanitizers' tests, which take as long again, are apart.
check: lint test rest-of-check ## Everything that must pass before a change is merged
	@echo "check: all passed"

# One half uses the build that is tested, and its samples are about time; the other is built on one core for most of its
# time.
rest-of-check: install ### The same without lint and tests
	@Scripts/install.sh test budgets
	@Scripts/at-once.sh pages-and-samples budgets-and-fuzz-inputs

pages-and-samples: scan-forms docs release-check examples benchmarks-build samples

budgets-and-fuzz-inputs:
	@nice -n 10 $(MAKE) --no-print-directory budgets fuzz-regressions BUDGETS=--without-command

install: ### Install the system packages that the build needs
	@Scripts/install.sh

format: ## Rewrite all Swift files in the project's format
	swift format format --in-place --parallel --configuration .swift-format --recursive $(LINT_PATHS)

lint: ## Check format, doc comments, file sizes and shell scripts
	@Scripts/install.sh check
	swift format lint --strict --parallel --configuration .swift-format --recursive $(LINT_PATHS)
	Scripts/check-sizes.sh
	! git grep -nE '^(<<<<<<<|>>>>>>>) '
	! git grep -nE '^ *(package |public )?import (Darwin|Glibc|Musl|FoundationEssentials)$$' -- Sources
	shellcheck $(SHELL_SCRIPTS)
	@Scripts/mutations.sh check
	@$(MAKE) --no-print-directory runner-tests
	@Scripts/bench.sh check
	PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover --start-directory Scripts
	@python3 Scripts/release.py check

runner-tests: ### Test what makes results and reports of the benchmarks' figures
	PYTHONPATH=Benchmarks PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover --start-directory Benchmarks/Runner/tests \
		--top-level-directory Benchmarks

# The other targets test values that one thread owns, turns of one task, or the test server; the threads of all of them
# run in the loopback tests.
THREADED_TESTS := LoopbackTests LibwebsocketsTransportTests WebSocketClientTests EventSourceTests \
	RelayHTTPServerTests ChappieRelayTests RelayServiceTests
# The others test modules that are memory safe by the compiler's word, or the test server. The server of EventSourceTests
# frees the bytes that it lends, where a socket's buffers are used again. The loopback tests run all C at once.
UNSAFE_TESTS := ServerSentEventsTests HTTPProtocolTests WebSocketProtocolTests DeflateTests ResponseEventsTests \
	EventSourceTests LibwebsocketsTransportTests RelayHTTPServerTests LoopbackTests

# What `make test` runs and a sanitizer need not: what starts programs of its own, which sanitizers do not see well; and
# what is long, and about time, decisions or values of one thread.
OF_OTHER_PROCESSES := DescriptorLimitTests|TLSEnvironmentTests|FiftyProcessesTests|StoppedProcessTests
OF_OTHER_PROCESSES := $(OF_OTHER_PROCESSES)|LoopbackTests.[A-Za-z]*Command
NOT_ABOUT_THREADS := ScenarioTests|SlowReaderTests|FrameQueueTests|AddressRaceTests|LookupQueueWalkTests|FaultProxyTests
NOT_ABOUT_THREADS := $(NOT_ABOUT_THREADS)|ContinuationTests|CanaryTests|ClientEndpointTests|RateLimitContractTests
NOT_ABOUT_THREADS := $(NOT_ABOUT_THREADS)|ProbeServerTests|TimeBudgetTests
NOT_ABOUT_MEMORY := ScenarioTests|SlowReaderTests|FaultProxyTests|TimeBudgetTests|TransportDeadlineTests|CanaryTests
NOT_ABOUT_MEMORY := $(NOT_ABOUT_MEMORY)|AddressRaceTests|BatchStreamTests|LaneTests|LaneStressTests|LoopbackTests.Client

# In three processes, as `make test` runs them.
THREAD_SANITIZER_RUNS := socket-tests-under-tsan more-socket-tests-under-tsan other-tests-under-tsan
THREAD_SANITIZER := swift test --skip-build --ignore-lock --sanitize=thread --scratch-path .build/tsan --disable-xctest \
	$(TEST_FLAGS) --skip '$(OF_OTHER_PROCESSES)|$(NOT_ABOUT_THREADS)'

# Under a sanitizer a turn takes ten times as long, so few bytes are cut at; `make test` cuts at every one.
thread-sanitizer-build $(THREAD_SANITIZER_RUNS): export CHAPPIE_CUT_STRIDE := 31
thread-sanitizer-build $(THREAD_SANITIZER_RUNS): export CHAPPIE_TEST_TARGETS := $(THREADED_TESTS)
address-sanitizer-build address-sanitizer-run: export CHAPPIE_CUT_STRIDE := 9
address-sanitizer-build address-sanitizer-run: export CHAPPIE_TEST_TARGETS := $(UNSAFE_TESTS)

sanitizers: thread-sanitizer address-sanitizer ### Both sanitizers on the tests; three quarters of an hour

thread-sanitizer: thread-sanitizer-build thread-sanitizer-run ### Run the tests of modules with threads of their own under the thread sanitizer

thread-sanitizer-build: install
	swift build --product $(TEST_PRODUCT) --sanitize=thread --scratch-path .build/tsan

thread-sanitizer-run:
	@Scripts/install.sh test
	@Scripts/at-once.sh $(THREAD_SANITIZER_RUNS)

socket-tests-under-tsan: ### Run the first half of the tests with real sockets under the thread sanitizer
	$(THREAD_SANITIZER) --filter '^LoopbackTests\.[A-FT]'

more-socket-tests-under-tsan: ### Run the second half of the tests with real sockets under the thread sanitizer
	$(THREAD_SANITIZER) --filter '^LoopbackTests\.[^A-FT]'

other-tests-under-tsan: ### Run the other tests under the thread sanitizer
	$(THREAD_SANITIZER) --skip '^LoopbackTests\.'

address-sanitizer: address-sanitizer-build address-sanitizer-run ### Run the tests that are about memory, and those with real sockets, under the address and leak sanitizers
address-sanitizer-build: install
	swift build --product $(TEST_PRODUCT) --sanitize=address --scratch-path .build/asan

address-sanitizer-run:
	@Scripts/install.sh test
	ASAN_OPTIONS=detect_leaks=1 swift test --skip-build --sanitize=address --scratch-path .build/asan --disable-xctest \
		$(TEST_FLAGS) --skip '$(OF_OTHER_PROCESSES)|$(NOT_ABOUT_MEMORY)'

# With the flags of the build that is tested; the command line has every library product below it.
docs: install ## Build the documentation site and every example in it
	@Scripts/install.sh docs
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/docs.sh

api-accept: install ### Write the public API into Documentation/PublicAPI.txt, the baseline of `make docs`
	@Scripts/install.sh docs
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/docs.sh --accept-api

SITE := .build/documentation/site

docs-serve: ## Serve the site at http://127.0.0.1:8000/, or PORT=n; built first when it is not there
	@test -d $(SITE) || { echo 'The site is built first, with every example in it: three to four minutes.'; \
		$(MAKE) --no-print-directory docs; }
	@echo 'The site is at http://127.0.0.1:$(PORT)/'
	@python3 -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

# With the flags of the build that is tested, of which everything below the examples is used.
examples: install ### Build and run the programs in Examples, and their tests
	@Scripts/examples.sh $(BUILD_FLAGS)

scan-forms: ### Hold every form of the search for line terminators against a plain loop
	@Scripts/scan-forms.sh

# Beside the modules that are tested, of which nothing is compiled again.
benchmarks-build: install ### Build the benchmarks, and check that their streams hold what they say
	CHAPPIE_BENCHMARKS=1 swift build $(BUILD_FLAGS)
	"$$(swift build --show-bin-path)/sse-throughput" self-check
	"$$(swift build --show-bin-path)/connection-cost" self-check

budgets: install ## Count an event's instructions and allocations; hold budgets
	@Scripts/install.sh budgets
	@Scripts/budgets.sh $(BUDGETS)

budgets-accept: install ### Write what an event costs into the file of budgets
	@Scripts/install.sh budgets
	@Scripts/budgets.sh --accept

fuzz: install ## Fuzz every target, or TARGET=name, for SECONDS=60 each
	Scripts/fuzz.sh run $(SECONDS) $(TARGET)

fuzz-nightly: install ## Fuzz all targets in turns for HOURS=8, or until each has 10^9 runs; goes on where it ended
	Scripts/fuzz.sh night $(HOURS) $(TARGET)

fuzz-regressions: install ### Build the fuzz targets and replay their committed inputs
	Scripts/fuzz.sh replay

fuzz-coverage: install ### Say which lines the fuzz targets' inputs reach; TARGET=name for one
	Scripts/fuzz.sh coverage $(TARGET)

fuzz-planted: install ### Plant bugs in what is fuzzed, and expect each target to find its own; TARGET=name for one
	Scripts/fuzz-planted.sh $(TARGET)

# The oracle that knows nothing of the engine, on what other programs have recorded (Tests/Engine/Promise/README.md).
JUDGE := PYTHONDONTWRITEBYTECODE=1 python3 Tests/Engine/Promise/run.py --jobs 2 --records

simulate: install ### Run a million turns against a server that rolls dice
	swift build -c release --product turn-simulator
	"$$(swift build -c release --show-bin-path)/turn-simulator" --turns 1000000 --jobs 2 --quiet \
		--record .build/simulator-records.jsonl --record-every 20
	$(JUDGE) .build/simulator-records.jsonl

mutations: install ### Take safeguards out of the engine, and expect the simulator to notice
	Scripts/mutations.sh

model: ### Check the models of the turn machine and of a journal with spin
	@Scripts/install.sh model
	@Scripts/model.sh

torture: install ## Cut real sockets at every byte of sessions; 10 minutes
	swift build -c release --product torture
	"$$(swift build -c release --show-bin-path)/torture" --record .build/torture-records.jsonl --record-every 40
	$(JUDGE) .build/torture-records.jsonl

# The build that is tested, so that nothing else has to be built.
torture-sample: install ### The same at a sample of the bytes, in a minute and a half at most
	swift build $(BUILD_FLAGS) --product torture
	"$$(swift build --show-bin-path)/torture" --fresh --sample 1.4% --stall-stride 12 --time-limit 90 \
		--resume .build/torture-sample-state.json --record .build/torture-sample-records.jsonl --record-every 8
	$(JUDGE) .build/torture-sample-records.jsonl

promise: install ## Judge the client against a lying server; SEEDS=A..B
	cd Tests/Engine/Promise && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest
	swift build -c release --product chappie
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Engine/Promise/run.py --found --scenarios --seeds $(or $(SEEDS),1..5000) \
		--client "$$(swift build -c release --show-bin-path)/chappie"

promise-sample: install ### The same with the defects that were found and some seeds, in less than a minute
	cd Tests/Engine/Promise && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest
	swift build $(BUILD_FLAGS) --product chappie
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Engine/Promise/run.py --seconds 40 \
		--client "$$(swift build --show-bin-path)/chappie"

relay-torture: install ## End relays at chosen moments of their streams; RUNS=n, default 20,000
	swift build -c release --product chappie
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Clients/RelayTorture/run.py --runs $(or $(RUNS),20000) \
		--client "$$(swift build -c release --show-bin-path)/chappie"

# Recorded streams of real servers, which are other people's and not here: CHAPPIE_CORPUS=folder, or the one beside the
# checkout. FILTER=name plays those with it in their names.
corpus: install ### Play the recorded streams of a folder, whole and cut, and compare what arrives with its index
	swift build $(BUILD_FLAGS) --product torture
	@"$$(swift build --show-bin-path)/torture" --corpus --jobs 8 $(if $(FILTER),--sessions '$(FILTER)')

SAMPLES := torture-sample corpus promise-sample soak-sample autobahn-quick

samples: install ### A sample of the torture, the promise, the soak and the Autobahn suite, and the corpus, at the same time
	@Scripts/at-once.sh $(SAMPLES)

soak: install ### Run streams whose consumers stop and start, for an hour or SECONDS=n, and see that nothing is lost or kept; CLIENTS=1 for the clients
	swift build -c release --product soak
	"$$(swift build -c release --show-bin-path)/soak" $(if $(CLIENTS),--clients) --seconds $(SOAK_SECONDS)

# Some seconds more than it says, for the streams that are still running then.
soak-sample: install ### The same for less than a minute
	swift build $(BUILD_FLAGS) --product soak
	"$$(swift build --show-bin-path)/soak" --seconds 35

bench: install ## Build and measure all figures; FILTER=name for some
	@Scripts/install.sh bench
	@Scripts/bench.sh run '$(FILTER)'

bench-peers: install ## The same with other people's programs beside it
	@Scripts/install.sh bench bench-peers
	@Scripts/bench.sh peers '$(FILTER)'

bench-report: ### Make report.html again, from the last results.json or RESULTS=file
	@Scripts/install.sh bench
	@Scripts/bench.sh report '$(RESULTS)'

bench-readme: ### Write the last run's figures, or RESULTS=file, into Benchmarks/RESULTS.md and the README
	@Scripts/install.sh bench
	@Scripts/bench.sh readme '$(RESULTS)'

figures: install ### Measure what recovery costs, each figure beside its bound; FILTER=name for some
	$(BENCHMARKS) --product recovery-figures
	"$$($(BENCHMARKS) --show-bin-path)/recovery-figures" $(FILTER)

churn: install ### Connect and cancel 100,000 times, also by the clients, and count what is left: descriptors, bytes
	swift build -c release --product connection-churn
	"$$(swift build -c release --show-bin-path)/connection-churn" --count 100000
	"$$(swift build -c release --show-bin-path)/connection-churn" --count 100000 --clients true

routes: install ### Add and delete the default route, in a network namespace, while responses stream: nothing may close
	@Scripts/install.sh routes
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/routes.sh "$$(swift build --show-bin-path)/chappie"

doctor-faults: install ### Plant faults on paths, with real proxies: `chappie doctor` names each, and none on a healthy path; WORDS=some
	@Scripts/install.sh doctor-faults
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/doctor-faults.sh "$$(swift build --show-bin-path)/chappie" "$(WORDS)"

credential-crashes: install ### Kill a process at each call that replaces a credential: the file is the old or the new one
	@Scripts/install.sh crashes
	@Scripts/credential-crashes.sh

browser-sign-in: install ### Sign in with Chromium at the test server, by code and by browser, agreeing and not
	@Scripts/install.sh browser
	@Scripts/browser-sign-in.sh

http-oracle: install ### Hold the reader of HTTP responses against h11, and cut ten million mutated ones into pieces
	@Scripts/install.sh http-oracle
	swift build -c release --product http-oracle
	@Scripts/http-oracle.sh "$$(swift build -c release --show-bin-path)/http-oracle" --count 200000 --mutations 10000000

interop: install ## Run client and server against other people's programs
	@Scripts/install.sh interop
	@swift build $(BUILD_FLAGS) --product chappie
	@swift build $(BUILD_FLAGS) --package-path Examples --scratch-path .build
	@Scripts/interop.sh

interop-model: install ### Stream from real models, made on the spot and served by transformers and llama-cpp-python; installs torch
	@Scripts/install.sh interop
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/interop.sh --models

autobahn: autobahn-client ## Run the WebSocket conformance suite, over ws and wss
	@Scripts/autobahn.sh
	@Scripts/autobahn.sh --tls --swap

autobahn-quick: autobahn-client ### The same over ws without what takes long: half a minute
	@Scripts/autobahn.sh --check

autobahn-full: autobahn-client ### The same with every case, over ws and wss: half an hour
	@Scripts/autobahn.sh --full
	@Scripts/autobahn.sh --full --tls --swap

# With the flags of the build that is tested, so that nothing else has to be built.
autobahn-client: install
	@Scripts/install.sh autobahn
	@swift build $(BUILD_FLAGS) --product autobahn-client

platforms: install ## Demo and tests on Debian 13, unstable and arm64; as root
	@CHAPPIE_WARNINGS_AS_ERRORS=1 Scripts/platforms.sh all

platform-sample: ### The demonstration and the tests of sockets on Debian 13, in a quarter of an hour
	@Scripts/platforms.sh sample

deb: ### Build the Debian package of the command line in .build/deb, and run lintian on it
	@Scripts/deb.sh build

deb-check: deb ### Install it in a Debian that has nothing else, run the demonstration, and remove it; as root
	@Scripts/deb.sh check

dependency-check: install ### Build README's program, which depends on the package by URL and version, and stream
	@Scripts/install.sh dependency
	@swift build $(BUILD_FLAGS) --product chappie
	@Scripts/dependency-check.sh

release-check: ### Fail while README names a version that cannot be had; build README's program with it
	@python3 Scripts/release.py check
	@python3 Scripts/release.py released
	@$(MAKE) --no-print-directory dependency-check

release-date: ### Make this commit the version's: what CHANGELOG.md has under [Unreleased], and the manual page's date
	@python3 Scripts/release.py date

# The one step of maintainers: from a checkout of main in which everything is committed.
release: release-check ## Tag this commit with its version, and push both
	@test -z "$$(git status --porcelain)" || { echo 'release: there are changes that are not committed' >&2; exit 1; }
	@version=$$(python3 Scripts/release.py version) && git tag --annotate "$$version" --message "Version $$version" && \
		git push --atomic origin HEAD "$$version"

clean: ## Remove everything that was built
	rm -rf .build
