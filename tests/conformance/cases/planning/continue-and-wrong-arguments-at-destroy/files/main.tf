terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_any" "a" {
  value = { s = "str" }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = self.echo.nope
  }
}
