# Tests that the plain build alone runs, as GoogleTest patterns: what they judge (a figure against a published one, cost
# at a size, a picture's layout) does not depend on how weft was compiled, and their code is run by smaller tests too.
# Under AddressSanitizer they took two thirds of the time of all tests.
set(WEFT_PLAIN_ONLY
  *.AHundredThousandGpus
  *.AMillionOperations
  *.AMillionSpans
  */Published.*
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
  LifePage.AThinnedTimelineKeepsThePageSmallAndSaysSo
  Nxos.HugeRangesStayBounded
  Pictures.AreReadableForEveryWiring
  PowerRunTest.SixteenThousandMachines
  ReadPlan.ThreeFs
  StepPublished.*
  TransferGraphTest.LargeRingsCostLittle
  Yaml.StaysLinearOnHostileFiles)
list(JOIN WEFT_PLAIN_ONLY ":" WEFT_PLAIN_ONLY)
