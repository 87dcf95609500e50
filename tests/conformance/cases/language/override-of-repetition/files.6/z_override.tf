resource "terraform_data" "a" {
  lifecycle {
    enabled = true
  }
}
resource "terraform_data" "b" {
  lifecycle {
    enabled = false
  }
}
