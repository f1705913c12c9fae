"""What every process of a job does alike: beginning, announcing itself, starting children, and ending."""
