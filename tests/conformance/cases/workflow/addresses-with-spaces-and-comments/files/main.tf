resource "terraform_data" "a" {
  for_each = toset(["k/#1", "l"])
}

resource "terraform_data" "b" {
}
