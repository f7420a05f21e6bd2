# Tests that the plain build alone runs, as GoogleTest patterns: what they judge (a figure against a published one, cost
# at a size, a picture's layout, a search of a large space) does not depend on how weft was compiled, and their code is
# run by smaller tests too.
# Under AddressSanitizer they took most of the time of all tests.
set(WEFT_PLAIN_ONLY
  *.AHundredThousandGpus
  *.AMillionOperations
  *.AMillionSpans
  */Published.*
  CliTest.EveryViewInEveryFormat
  Designer.MixesProfilesAndNetworksAtEverySize
  Designer.SizesFromOneServerToManyRows
  Dial.FlowFollowsPacketWhereItDoesNotWarn
  Document.WritesManyRowsInOneGo
  ExplainProperty.*
  FailureAnalysis.CutSwitchesReallyCut
  FailureAnalysis.LossesAgreeWithTakingThingsAway
  FlowRepeat.BoundsLargeRingsThatMeet
  FlowRepeat.TakesEndsTogetherWhereThereAreTooMany
  Hierarchical.GrowsWithTheRanksAlone
  HostCost.FlowFollowsPacketWhereHostsAreTheLimit
  HostCost.TcpLosesAThirdToTwoThirdsOfHundredGigabitRdma
  LeaseModel.AgentCrashes
  LeaseModel.AgentRunsTwice
  LeaseModel.EngineStartsWork
  LeaseModel.NodeIsFenced
  LeaseRandom.*
  LifePage.AThinnedTimelineKeepsThePageSmallAndSaysSo
  Nxos.HugeRangesStayBounded
  PackBound.IsNeverBelowTheBestChoice
  Pictures.AreReadableForEveryWiring
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
  TransferGraphTest.LargeRingsCostLittle
  Victims.NoSetLosesLessThanTheAnswer
  Yaml.StaysLinearOnHostileFiles)
list(JOIN WEFT_PLAIN_ONLY ":" WEFT_PLAIN_ONLY)
