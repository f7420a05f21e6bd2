# Unit tests that run with the flags of the release build and not under the sanitizers, as GoogleTest patterns: what they
# judge (a figure against a published one, cost at a size, a picture's layout, a search of a large space) does not depend
# on how weft was compiled, and their code is run by smaller tests too. Under AddressSanitizer they took most of the time
# of all tests.
set(WEFT_LONG_TESTS
  */Published.*
  CliTest.EveryViewInEveryFormat
  Designer.MixesProfilesAndNetworksAtEverySize
  Designer.SizesFromOneServerToManyRows
  Dial.FlowFollowsPacketWhereItDoesNotWarn
  Document.WritesManyRowsInOneGo
  ExplainProperty.*
  FabricGraph.CutSwitchesReallyCut
  FailureAnalysis.AHundredThousandGpus
  FlowRepeat.BoundsLargeRingsThatMeet
  FlowRepeat.TakesEndsTogetherWhereThereAreTooMany
  HealthReports.Limits
  Hierarchical.GrowsWithTheRanksAlone
  HostCost.FlowFollowsPacketWhereHostsAreTheLimit
  HostCost.TcpLosesAThirdToTwoThirdsOfHundredGigabitRdma
  LeakTiming.*
  LeaseModel.AgentCrashes
  LeaseModel.AgentRunsTwice
  LeaseModel.EngineStartsWork
  LeaseModel.NodeIsFenced
  LeaseRandom.*
  Lifeline.AHundredThousandGpus
  LifePage.AThinnedTimelineKeepsThePageSmallAndSaysSo
  LongEtcdSimulation.*
  LongLeak.*
  LongSimulation.*
  LossMeter.AgreesWithTakingThingsAway
  Nxos.HugeRangesStayBounded
  PackBound.IsNeverBelowTheBestChoice
  Perfetto.AMillionSpans
  Pictures.AreReadableForEveryWiring
  Play.AMillionOperations
  PowerRunTest.SixteenThousandMachines
  PublishedTraces.*
  ReadPlan.ThreeFs
  Replay.HeldGpusAddUpToTheIntegral
  Replay.PublishedTraceInPart
  Replay.TheSameTraceGivesTheSameHash
  Rescue/Shipped.SurvivesDeathAtEveryPoint/1
  Rescue/Shipped.SurvivesDeathAtEveryPoint/2
  Rescue/Shipped.SurvivesDeathAtEveryPoint/3
  Rescue/Shipped.SurvivesDeathAtEveryPoint/4
  SchedulerDefragment.RandomEventsKeepTheBooks
  SchedulerElastic.RandomEventsGrowAndShrinkWithoutPingPong
  SchedulerPreempt.RandomEventsKeepTheOrderAndComeToRest
  SchedulerPreempt.SevenHundredVictimsOnTwoThousandServers
  SchedulerProperties.FirstPromisesAreKept
  SchedulerRepair.RandomFailuresNeverBreakTheBooks
  StepPublished.*
  Straggler.AJobOfFourThousandNodes
  Straggler.NoiseIsThatOfANormalDistribution
  Straggler.NoiseMakesNoSuspects
  TransferGraphTest.LargeRingsCostLittle
  Victims.NoSetLosesLessThanTheAnswer
  Yaml.StaysLinearOnHostileFiles)
# The suites they are in, as a regular expression: the files of those suites are built with the release flags too.
set(WEFT_LONG_SUITES ${WEFT_LONG_TESTS})
list(TRANSFORM WEFT_LONG_SUITES REPLACE "^(.*/)?([^/.]+)\\..*$" "\\2")
list(REMOVE_DUPLICATES WEFT_LONG_SUITES)
list(JOIN WEFT_LONG_SUITES "|" WEFT_LONG_SUITES)
list(JOIN WEFT_LONG_TESTS ":" WEFT_LONG_TESTS)
