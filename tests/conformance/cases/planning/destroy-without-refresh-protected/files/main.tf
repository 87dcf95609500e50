resource "terraform_data" "a" {
  lifecycle {
    prevent_destroy = true
  }
}
resource "terraform_data" "b" {
  input = terraform_data.a.id
}
resource "terraform_data" "c" {
  lifecycle {
    destroy = false
  }
}
