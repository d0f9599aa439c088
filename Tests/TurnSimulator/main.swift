import TurnSimulation

print(TurnSimulation.self)
