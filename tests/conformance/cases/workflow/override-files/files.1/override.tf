resource "terraform_data" "x" {
  lifecycle {
    ignore_changes        = []
    create_before_destroy = true
  }
  input = "last"
}
