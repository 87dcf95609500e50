
resource "lab_any" "a" { value = { t = "true", n = 1, nul = null, o = {}, e = "" } }
check "num" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = lab_any.a.echo.n
  }
}
check "nul" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = lab_any.a.echo.nul
  }
}
check "obj" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = lab_any.a.echo.o
  }
}
check "empty" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = lab_any.a.echo.e
  }
}
check "sens" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = "x ${sensitive(lab_any.a.id)}"
  }
}
check "wrong" {
  assert {
    condition     = lab_any.a.id == ""
    error_message = "x ${lab_any.a.echo.nope}"
  }
}
