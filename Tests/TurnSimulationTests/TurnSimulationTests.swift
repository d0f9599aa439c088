import Testing
import TurnSimulation

@Suite struct TurnSimulationTests {}
