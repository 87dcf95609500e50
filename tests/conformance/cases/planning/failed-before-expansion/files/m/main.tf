resource "terraform_data" "in" {
  lifecycle {
    postcondition {
      condition = self.id != ""
      error_message = "x"
    }
  }
}
