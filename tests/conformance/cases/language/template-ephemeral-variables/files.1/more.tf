resource "terraform_data" "bad" {
  input = templatefile("t.tftpl", { p = var.pw, u = "u" })
}
output "bad" {
  value = templatefile("t.tftpl", { p = [var.pw], u = "u" })
}
