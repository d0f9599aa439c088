print("nothing yet")
