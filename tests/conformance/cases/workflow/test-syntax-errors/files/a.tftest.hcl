run "a" {
  assert {
    condition = 
  }
