variable "pw" {
  default   = "pw"
  sensitive = true
}
resource "terraform_data" "late" {
  input = templatefile("${path.module}/one.tftpl", { y = var.pw })
}
