run "none" {
  assert {
    condition     = jsonencode([var.v, var.w, var.l, var.o, var.e]) == jsonencode([output.o[0], output.o[1], output.o[2], { a = 1, b = "d" }, 4])
    error_message = "none"
  }
  assert {
    condition     = output.o[0] == var.v
    error_message = "v"
  }
  assert {
    condition     = output.o[1] == var.w
    error_message = "w"
  }
  assert {
    condition     = var.e == "4"
    error_message = "e"
  }
}
run "own" {
  variables {
    v = "3"
    w = 4
    l = [5]
    o = { a = "2" }
  }
  assert {
    condition     = jsonencode([var.v, var.w, var.l, var.o]) == "[\"3\",4,[5],{\"a\":\"2\",\"b\":\"d\"}]"
    error_message = "own"
  }
  assert {
    condition     = output.o[0] == 3 && output.o[1] == "4" && output.o[2][0] == "5"
    error_message = "outputs"
  }
}
run "planned" {
  command = plan
  variables {
    v = "3"
  }
  assert {
    condition     = var.v == 3
    error_message = "planned"
  }
}
