variable "up" {}
resource "terraform_data" "deep" {
  count = 2
  input = "${var.up}${count.index}"
}
