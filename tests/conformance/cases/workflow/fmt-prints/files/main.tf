variable   "a" {
default="x"
}
